// Runs Apache Kafka's command-line tools one after the other in one JVM, as a shell would one by one.
// Each line of standard input is a command: the tool's class, its arguments, and (after "<") the lines
// of its standard input, separated by tabs. Each answer is "=== code", the output, and "=== end".

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.kafka.common.utils.Exit;

public class Tools {
    /** Ends a tool's main. Some catch it and exit again, so only the first exit code counts. */
    static final class Exited extends Error { }

    static Integer firstCode;

    static void exit(int code) {
        if (firstCode == null) {
            firstCode = code;
            PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
            System.setOut(nowhere);
            System.setErr(nowhere);
        }
        throw new Exited();
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        List<Runnable> hooks = new ArrayList<>();
        Exit.setExitProcedure((code, message) -> exit(code));
        Exit.setHaltProcedure((code, message) -> exit(code));
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            List<String> words = Arrays.asList(line.split("\t"));
            int feed = words.indexOf("<");
            List<String> arguments = words.subList(1, feed < 0 ? words.size() : feed);
            String typed = feed < 0 ? "" : String.join("\n", words.subList(feed + 1, words.size())) + "\n";
            ByteArrayOutputStream shown = new ByteArrayOutputStream();
            PrintStream screen = new PrintStream(shown, true, StandardCharsets.UTF_8);
            System.setIn(new ByteArrayInputStream(typed.getBytes(StandardCharsets.UTF_8)));
            System.setOut(screen);
            System.setErr(screen);
            firstCode = null;
            int code = run(words.get(0), arguments.toArray(new String[0]), screen);
            hooks.forEach(Runnable::run);
            hooks.clear();
            System.setOut(out);
            System.setErr(err);
            out.println("=== " + code + "\n" + shown.toString(StandardCharsets.UTF_8) + "\n=== end");
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static int run(String tool, String[] arguments, PrintStream screen) {
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return firstCode == null ? 0 : firstCode;
        } catch (InvocationTargetException error) {
            if (firstCode != null) return firstCode;
            error.getCause().printStackTrace(screen);
            return 1;
        } catch (ReflectiveOperationException error) {
            error.printStackTrace(screen);
            return 127;
        }
    }
}

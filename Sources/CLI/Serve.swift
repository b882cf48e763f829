import App
import ArgumentParser
import Platform
import ServerConfiguration

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves an application.", usage: OptionHelp.usage)

    @Argument(
        parsing: .captureForPassthrough,
        help: "The configuration file (JSON), and options that override it: --appId myApp --port 1337 …")
    var arguments: [String] = []

    func run() async throws {
        if arguments.contains("--help") || arguments.contains("-h") {
            print(OptionHelp.text(width: Self.terminalWidth), terminator: "")
            return
        }
        do {
            let environment = ProcessInfo.processInfo.environment
            try await Server.make(arguments: arguments, environment: environment)?.run()
        } catch {
            ErrorText.report(ErrorText.of(error))
            endProcess(ErrorText.status(of: error))
        }
    }

    private static var terminalWidth: Int {
        var size = winsize()
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        return ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) } ?? 80
    }
}

/// The help of `roost serve`, generated from the option table.
enum OptionHelp {
    static let usage = "roost serve [roost.json] [--OPTION VALUE ...]"

    private static let introduction = """
        Serves an application. Without a file, reads roost.json in the current folder. A JavaScript file, or a \
        folder with a package.json, is an app's own index.js: Roost runs it in Node.js and uses the options that it \
        passes to ParseServer. If it creates several servers, --app ID chooses one. Precedence: flags, environment \
        variables, configuration file, defaults. See docs/configuration.md.
        """

    /// Returns the help, wrapped at a width.
    static func text(width: Int) -> String {
        let width = max(40, width)
        var lines = wrapped("USAGE: " + usage, indent: 7, width: width) + [""]
        lines += wrapped(introduction, indent: 0, width: width)
        let isRequired = { (option: OptionDefinition) in OptionTable.required.contains(option.name) }
        let groups =
            [("Required", OptionTable.all.filter(isRequired))]
            + OptionTable.sections.map { ($0.title, $0.options.filter { !isRequired($0) }) }
        for (title, options) in groups where !options.isEmpty {
            lines += ["", title.uppercased() + ":"]
            for option in options {
                lines += wrapped(
                    "  --\(option.name) <\(option.kind.rawValue)>  \(option.environment)", indent: 6, width: width)
                lines += wrapped("      " + helpText(option), indent: 6, width: width)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func wrapped(_ text: String, indent: Int, width: Int) -> [String] {
        var lines: [String] = []
        var line = String(text.prefix { $0 == " " })
        var hasWords = false
        for word in text.split(separator: " ") {
            if hasWords, line.count + 1 + word.count > width {
                lines.append(line)
                (line, hasWords) = (String(repeating: " ", count: indent), false)
            }
            line += (hasWords ? " " : "") + word
            hasWords = true
        }
        return lines + [line]
    }

    private static func helpText(_ option: OptionDefinition) -> String {
        switch option.support {
        case .built: option.help
        case .ignored(let why): "Ignored: \(why)"
        case .notBuilt: "Not supported: \(option.summary). The server refuses to start if it is set"
        }
    }
}

// Inside a command, its own `exit` hides the system function.
private func endProcess(_ status: Int32) -> Never { exit(status) }

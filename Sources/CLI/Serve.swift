import App
import ArgumentParser
import Foundation
import ServerConfiguration

/// `roost serve`: the server.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves an application.",
        discussion: OptionHelp.text)

    @Argument(
        parsing: .captureForPassthrough,
        help: "The configuration file (JSON), and options that outweigh it: --appId myApp --port 1337 …")
    var arguments: [String] = []

    func run() async throws {
        if arguments.contains("--help") || arguments.contains("-h") {
            print(Serve.helpMessage())
            return
        }
        do {
            try await Server(arguments: arguments, environment: ProcessInfo.processInfo.environment).run()
        } catch let error as ConfigurationError {
            Self.fail(error.message)
        } catch {
            Self.fail("\(error)")
        }
    }

    private static func fail(_ message: String) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("roost: \(message)\n".utf8))
        Foundation.exit(1)
    }
}

/// The help for all options, made from their table.
enum OptionHelp {
    static var text: String {
        "Options can stand in the file by their name, in the environment, or as flags; a flag outweighs the "
            + "environment, and that the file.\n\n"
            + OptionTable.all.map { option in
                "  --\(option.name) <\(option.kind.rawValue)>  (\(option.environment))\n      \(note(option))"
            }.joined(separator: "\n")
    }

    private static func note(_ option: OptionDefinition) -> String {
        switch option.support {
        case .built: option.help
        case .ignored(let why): "Taken without effect: \(why)"
        case .notBuilt: "\(option.help) (not built yet: refused unless it asks for nothing)"
        }
    }
}

import ArgumentParser
import ServerConfiguration

/// Detects arguments that don't start with the name of a command.
enum UnknownCommand {
    /// Returns the error message for a first argument that is neither a command nor a flag such as `--help`, or nil.
    static func message(_ arguments: [String], of command: any ParsableCommand.Type = Roost.self) -> String? {
        if arguments.first == "help" { return message(Array(arguments.dropFirst()), of: command) }
        let subcommands = command.configuration.subcommands
        guard let first = arguments.first, !subcommands.isEmpty, !usual.contains(where: first.hasPrefix) else {
            return nil
        }
        var names: [String] = []
        for subcommand in subcommands {
            guard let name = subcommand.configuration.commandName else { continue }
            if name == first { return message(Array(arguments.dropFirst()), of: subcommand) }
            names.append(name)
        }
        let list = "Commands: \(names.joined(separator: ", "))"
        guard !first.hasPrefix("-") else {
            // The value after an equals sign may be a key, so it isn't printed.
            let name = String(first.prefix { $0 != "=" })
            let isOption = OptionTable.find(String(name.drop { $0 == "-" })) != nil
            return isOption
                ? "\(name) is an option of a command: roost serve \(name) …" : "unknown option \(name). \(list)"
        }
        if first.contains("://") { return "a URI is not a command. \(list)" }
        if [".json", ".js", ".mjs", ".cjs", ".ts"].contains(where: first.hasSuffix) {
            return "unknown command \(first). To start the server: roost serve \(first)"
        }
        return "unknown command \(first). " + (names.nearest(to: first).map { "Did you mean \($0)? " } ?? "") + list
    }

    private static let usual = [
        "-h", "--help", "--version", "help", "--generate-completion-script", "--experimental-dump-help",
    ]
}

import Foundation
import ServerConfiguration

/// What the server prints when it listens: where it is, and how to try it.
///
/// What is printed often ends in a log, which more people read than may know the keys. They are named by their options,
/// unless a person tries an example at a terminal.
struct Banner {
    let configuration: Configuration
    let port: Int
    let dataFolder: String
    let filesFolder: String
    /// Whether the keys themselves are shown.
    let showsKeys: Bool
    var showsMails = false
    /// Where the console is opened; nil where that is not shown.
    var consoleAddress: String?

    /// Whether the keys may be shown: the output is a terminal, and the configuration is one of the examples.
    ///
    /// - Parameters:
    ///   - configurationFolder: Where the configuration file is; nil when there is none.
    ///   - isTerminal: Whether the output is a terminal.
    static func mayShowKeys(configurationFolder: String?, isTerminal: Bool) -> Bool {
        guard isTerminal, let configurationFolder else { return false }
        return configurationFolder.split(separator: "/").contains("examples")
    }

    private var url: String {
        let host = ["0.0.0.0", "::"].contains(configuration.host) ? "127.0.0.1" : configuration.host
        return "\(configuration.scheme)://\(host):\(port)\(configuration.mountPath)"
    }

    private var clientKeys: [(option: String, header: String, key: String)] {
        let keys = [
            ("clientKey", "X-Parse-Client-Key", configuration.clientKey),
            ("javascriptKey", "X-Parse-Javascript-Key", configuration.javascriptKey),
            ("restAPIKey", "X-Parse-REST-API-Key", configuration.restAPIKey),
            ("dotNetKey", "X-Parse-Windows-Key", configuration.dotNetKey),
        ]
        return keys.compactMap { option, header, key in key.map { (option, header, $0) } }
    }

    var text: String {
        var lines = ["", "Roost \(Version.text) is serving"]
        func add(_ name: String, _ value: String) {
            lines.append("  \(name.padding(toLength: 16, withPad: " ", startingAt: 0))\(value)")
        }
        add("URL", url)
        add("application id", configuration.appId)
        let masterKey = showsKeys ? configuration.masterKey : "<masterKey>"
        add("master key", showsKeys ? masterKey : "as the option masterKey says")
        for (option, _, key) in clientKeys { add(option, showsKeys ? key : "as the option says") }
        if configuration.databaseURI == nil { add("data folder", dataFolder) } else { add("files folder", filesFolder) }
        if let consoleAddress { add("console", consoleAddress) }
        if showsMails { add("mails", "shown here, since no emailAdapter is configured") }
        let key = clientKeys.first.map { " -H '\($0.header): \(showsKeys ? $0.key : "<\($0.option)>")'" } ?? ""
        let master = configuration.allowClientClassCreation ? "" : " -H 'X-Parse-Master-Key: \(masterKey)'"
        lines += [
            "", "Try it:",
            "  curl -H 'X-Parse-Application-Id: \(configuration.appId)'\(key)\(master) -H 'Content-Type: application/json' "
                + "-d '{\"title\":\"My first object\"}' \(url)/classes/Playlist", "",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}

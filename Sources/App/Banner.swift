import Platform
import ServerConfiguration

/// The text that the server prints when it listens: its addresses, and how to try it.
///
/// The output often ends up in a log that people without access to the keys can read. So the text only names the
/// options of keys, unless the keys are the public ones of the example, or an example is started in a terminal.
package struct Banner {
    let configuration: Configuration
    let port: Int
    let dataFolder: String
    let filesFolder: String
    let showsKeys: Bool
    var showsMails = false
    /// The lines of features, such as further addresses.
    package var featureLines: [(name: String, value: String)] = []

    package init(
        configuration: Configuration, port: Int, dataFolder: String, filesFolder: String, showsKeys: Bool,
        showsMails: Bool = false
    ) {
        self.configuration = configuration
        self.port = port
        self.dataFolder = dataFolder
        self.filesFolder = filesFolder
        self.showsKeys = showsKeys
        self.showsMails = showsMails
    }

    /// Returns whether keys can be shown: the output is a terminal, and the configuration is one of the examples.
    ///
    /// - Parameters:
    ///   - configurationFolder: The folder of the configuration file, or nil without a file.
    ///   - isTerminal: Whether the output is a terminal.
    package static func mayShowKeys(configurationFolder: String?, isTerminal: Bool) -> Bool {
        guard isTerminal, let configurationFolder else { return false }
        return configurationFolder.split(separator: "/").contains("examples")
    }

    /// Returns whether addresses may contain a ticket that signs in: the output is a terminal, or the master key is the
    /// public one of `examples/music`.
    ///
    /// - Parameter isTerminal: Whether the output is a terminal rather than a log.
    package static func mayShowTicket(_ configuration: Configuration, isTerminal: Bool) -> Bool {
        isTerminal || isPublic(configuration.masterKey)
    }

    /// Returns whether a key belongs to `examples/music`, whose keys are public.
    private static func isPublic(_ key: String) -> Bool { key.hasPrefix("music-example-") }

    private func shows(_ key: String) -> Bool { showsKeys || Self.isPublic(key) }

    private var url: String {
        let host = ["0.0.0.0", "::"].contains(configuration.host) ? "127.0.0.1" : configuration.host
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(configuration.scheme)://\(name):\(port)\(configuration.mount)"
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

    /// Returns a word of a shell command, in quotes if necessary.
    static func quoted(_ word: String) -> String {
        let isPlain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:@%+=,".contains($0) }
        return isPlain ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }

    package var text: String {
        var lines = ["", "Roost \(Version.text) is serving"]
        func add(_ name: String, _ value: String) {
            lines.append("  \(name.prefix(16))\(String(repeating: " ", count: max(0, 16 - name.count)))\(value)")
        }
        add("URL", url)
        add("application id", configuration.appId)
        let masterKey = configuration.masterKey
        add("master key", shows(masterKey) ? masterKey : "the value of the option masterKey")
        for (option, _, key) in clientKeys { add(option, shows(key) ? key : "the value of the option") }
        if configuration.databaseURI == nil { add("data folder", dataFolder) } else { add("files folder", filesFolder) }
        for (name, value) in featureLines { add(name, value) }
        if showsMails { add("emails", "shown here, since no emailAdapter is configured") }
        // Every project has this class, and clients may read it.
        var words = ["curl", "\(url)/classes/_User", "-H", "X-Parse-Application-Id: \(configuration.appId)"]
        if let (option, header, key) = clientKeys.first {
            words += ["-H", "\(header): \(shows(key) ? key : "<\(option)>")"]
        }
        lines += ["", "Try it:", "  " + words.map(Self.quoted).joined(separator: " "), ""]
        return lines.joined(separator: "\n") + "\n"
    }
}

import JSON
import Platform
import ServerConfiguration

/// An app's own `index.js` as served by Roost: its options in configuration-file format, and notes on the rest.
package struct ServedApp: Sendable {
    package let file: AppFile
    /// The options in configuration-file format.
    package private(set) var options: JSONObject
    package private(set) var notes: [AppNote] = []
    /// The cloud code file that the app names, or nil if it has none or provides a function.
    package let cloudFile: String?
    /// The index of the server among those that the file creates.
    let server: Int
    /// Whether the app listens, in which case it has its own routes.
    let listens: Bool
    /// The name of the call of `listen` to serve, or nil if the app makes at most one.
    let listen: String?
    private var providers: [Name] = []
    /// The supported options that the app provides as functions.
    package private(set) var functions: Set<Configuration.OptionFunction> = []
    private let place: String

    /// Reads the options from a recording.
    ///
    /// - Parameter identifier: The `appId` of the server to use if the file creates several.
    package init(_ file: AppFile, _ record: JSONObject, identifier: String?) throws(ConfigurationError) {
        self.file = file
        let servers = record["servers"]?.arrayValue ?? []
        let names = servers.map { $0["options"]?["appId"]?.stringValue ?? "" }
        let index = identifier.map { identifier in names.firstIndex { $0.hasSameBytes(as: identifier) } } ?? 0
        guard let index, servers.indices.contains(index) else {
            throw ConfigurationError("\(file.name) creates no server with the appId \(identifier ?? "")")
        }
        guard identifier != nil || servers.count == 1 else {
            throw ConfigurationError(
                "\(file.name) creates servers for the apps \(names.joined(separator: ", ")). Choose one with --app \(names[0])"
            )
        }
        let made = servers[index]
        server = index
        place = made["at"]?.stringValue ?? ""
        options = made["options"]?.objectValue ?? [:]
        var listens = record["listens"]?.arrayValue ?? []
        self.listens = !listens.isEmpty
        let chosen = made["listen"]?.numberValue.flatMap { Int(exactly: $0) } ?? 0
        if listens.indices.contains(chosen) { listens.insert(listens.remove(at: chosen), at: 0) }
        listen = listens.count > 1 ? listens[0]["name"]?.stringValue : nil
        cloudFile = options.removeValue(forKey: "cloud")?.stringValue
        if let cloudFile { add("cloud", .applied, cloudFile) }
        for (option, failure) in made["asked"]?.objectValue ?? [:] {
            if let reason = failure.stringValue {
                add(option.text, .decide, "its function failed while the file was read: \(reason)")
            } else {
                if option == "masterKey" { functions.insert(.masterKey) }
                add(option.text, .applied, "a function, called once at start")
            }
        }
        for mark in made["marks"]?.arrayValue ?? [] { add(mark) }
        readAdapters()
        readAddress(made, listens)
        readDatabase()
        for note in record["notes"]?.arrayValue ?? [] { add(note: note) }
        if options["preset"] == nil, let line = AppRecording.preset(of: record["version"]?.stringValue) {
            options["preset"] = .number(Double(line))
            add("preset", .applied, "\(line), by the version of parse-server in package.json")
        }
    }

    /// The options that the owner must change.
    package var undecided: [AppNote] { notes.filter { $0.outcome == .decide } }

    /// The warnings to log at startup.
    package var warnings: [String] { notes.filter { [.changed, .left].contains($0.outcome) }.map(\.text) }

    /// Creates a note about an option, with the line that creates the server as its place.
    package func makeNote(_ subject: String, _ outcome: AppNote.Outcome, _ details: String) -> AppNote {
        AppNote(subject: subject, outcome: outcome, details: details, place: place)
    }

    private mutating func add(_ subject: String, _ outcome: AppNote.Outcome, _ details: String, at place: String? = nil)
    {
        notes.append(AppNote(subject: subject, outcome: outcome, details: details, place: place ?? self.place))
    }

    /// Configures the host to run the file instead of `cloud/main.js`.
    package func configure(_ configuration: inout Configuration) {
        // Flags and environment variables also override functions, and a whole password policy overrides its function.
        let policies: Set = ["--passwordPolicy", "PARSE_SERVER_PASSWORD_POLICY"]
        let overridden = configuration.settings.filter { $0.source == .flag || $0.source == .environment }
        configuration.cloudMain.main = file.path
        configuration.cloudMain.app = Configuration.CloudMain.App(
            folder: file.folder, server: server, listens: listens, listen: listen, providers: providers,
            functions: functions.filter { function in
                if function == .masterKey, configuration.masterKeyTtl == 0 { return false }
                return !overridden.contains {
                    $0.name == function.rawValue
                        || function == .validatorCallback && !policies.isDisjoint(with: $0.from)
                }
            })
        let isRenewed = configuration.cloudMain.app?.functions.contains(.masterKey) == true
        if isRenewed { configuration.renewedMasterKey = RenewedKey(configuration.masterKey) }
    }

    // MARK: Functions and instances

    /// Handles a value that JSON can't represent. Adapters and some functions of the app run in Node, and options that
    /// Roost ignores are still ignored. For other options the owner must change the value.
    private mutating func add(_ mark: JSONValue) {
        let path = mark["path"]?.arrayValue?.compactMap(\.stringValue) ?? []
        guard let option = path.first else { return }
        if path == ["cloud"] { return add("cloud", .applied, "a function of the app, which Node.js runs at start") }
        let isIgnored =
            if case .ignored? = OptionTable.find(option)?.support { true } else { false }
        if isIgnored || ["pubSubAdapter", "wssAdapter"].contains(path.last) {
            // The configuration reader reports that they have no effect.
            if path.count == 1 { options[Name(option)] = "JavaScript" }
            if path.count == 2, var object = options[Name(option)]?.objectValue {
                object[Name(path[1])] = "JavaScript"
                options[Name(option)] = .object(object)
            }
            return
        }
        if option == "auth", path.count > 1 { return addProvider(Name(path[1])) }
        if option == "emailAdapter" {
            // This also replaces an adapter module whose options contain functions.
            options["emailAdapter"] = ["module": .string(Configuration.MailDelivery.ofApp)]
            guard !notes.contains(where: { $0.subject == "emailAdapter" }) else { return }
            return add("emailAdapter", .applied, "an adapter of the app, which Node.js runs")
        }
        let subject = path.joined(separator: ".")
        if mark["kind"] == "function", let function = Configuration.OptionFunction(rawValue: subject),
            function != .masterKey
        {
            functions.insert(function)
            if path.count == 1 { options[Name(option)] = true }
            return add(subject, .applied, "a function in the app, which Node.js calls on each use")
        }
        guard !notes.contains(where: { $0.subject == subject }) else { return }
        let what =
            mark["kind"] == "function" ? "a JavaScript function" : "an instance of \(mark["name"]?.stringValue ?? "")"
        let isOption = OptionTable.find(option) != nil
        add(
            subject, isOption ? .decide : .left,
            isOption ? "\(what) can't be used here. Set a value instead, or remove it" : "unknown option, \(what)")
    }

    private mutating func addProvider(_ name: Name) {
        guard !providers.contains(name) else { return }
        providers.append(name)
        var auth = options["auth"]?.objectValue ?? [:]
        auth[name] = auth[name] ?? [:]
        options["auth"] = .object(auth)
        add("auth.\(name)", .applied, "an adapter of the app, which Node.js runs")
    }

    // MARK: Adapters

    private mutating func readAdapters() {
        if let module = options["filesAdapter"]?["module"]?.stringValue, module.hasPrefix("GridFS") {
            options["filesAdapter"] = nil
            add("filesAdapter", .changed, "files are stored on disk instead of in MongoDB; roost import copies them")
        }
        if var push = options["push"]?.objectValue, push["adapter"]?["module"] == "@parse/push-adapter" {
            let own = push["adapter"]?["options"]?.objectValue ?? [:]
            push["adapter"] = nil
            options["push"] = .object(push.merging(own) { $1 })
            add("push.adapter", .applied, "Roost applies the options of @parse/push-adapter to push")
        }
        for name in ["emailAdapter", "filesAdapter"] as [Name] {
            guard let module = options[name]?["module"]?.stringValue, module != Configuration.MailDelivery.ofApp else {
                continue
            }
            add(name.text, .applied, module)
        }
    }

    // MARK: Addresses

    private mutating func readAddress(_ made: JSONValue, _ listens: [JSONValue]) {
        let listen = listens.first
        let place = listen?["at"]?.stringValue
        if let port = made["port"]?.orNil ?? listen?["port"]?.orNil {
            options["port"] = port
            let text = port.stringValue ?? port.text
            add("port", .applied, "\(text), for Roost; the app listens on a socket", at: place)
        }
        if let files = listen?["https"]?.objectValue {
            if files["certificate"] != nil, files["key"] != nil {
                options["https"] = .object(files)
                add("https", .applied, "the certificate and key of the app's HTTPS server", at: place)
            } else {
                add(
                    "https", .changed,
                    "Roost serves plain HTTP, because it can't find the files of the app's certificate and key. Set https",
                    at: place)
            }
        }
        if let host = listen?["host"]?.stringValue { options["host"] = .string(host) }
        if options["trustProxy"] == nil, let proxies = made["trustProxy"]?.orNil {
            let isFunction = proxies == "function"
            if !isFunction { options["trustProxy"] = proxies }
            add(
                "trustProxy", isFunction ? .decide : .applied,
                isFunction
                    ? "the app's setting \"trust proxy\" is a function. Set ParseServer's option trustProxy to addresses"
                    : "the app's setting \"trust proxy\"")
        }
        if made["listen"] == nil {
            let places = listens.compactMap { $0["at"]?.stringValue }.joined(separator: ", ")
            add(
                "listen", .decide,
                "Roost can't tell which of the app's HTTP servers serves ParseServer. Set mountPath, or call listen only once",
                at: places)
        }
        for other in listens.dropFirst() where made["listen"] != nil {
            let port = Int(other["port"]?.numberValue ?? 0)
            add(
                "listen(\(port))", .left, "Roost serves only one of the app's HTTP servers",
                at: other["at"]?.stringValue)
        }
        if let path = made["mountPath"]?.stringValue {
            options["mountPath"] = .string(path)
            add("mountPath", .applied, path)
            if path == "/", !listens.isEmpty {
                add(
                    "routes", .left,
                    "the app's own routes get no requests, because mountPath is \"/\". Mount ParseServer at another path, such as /parse"
                )
            }
        } else if options["mountPath"] == nil, let url = options["serverURL"]?.stringValue {
            let path = URL(string: url)?.path ?? ""
            options["mountPath"] = path.isEmpty ? nil : .string(path)
            if !path.isEmpty { add("mountPath", .applied, "\(path), the path of serverURL") }
        }
    }

    private mutating func readDatabase() {
        guard let uri = options["databaseURI"]?.stringValue, uri.hasPrefix("mongodb") else { return }
        options["databaseURI"] = nil
        add(
            "databaseURI", .changed,
            "MongoDB is not used. Roost serves from --databaseURI, or from an embedded PostgreSQL without it; roost import "
                + "copies the data")
    }

    // MARK: Calls of the app

    private mutating func add(note: JSONValue) {
        let place = note["at"]?.stringValue ?? ""
        switch note["what"]?.stringValue {
        case "liveQuery":
            options["startLiveQueryServer"] = true
            if options["liveQueryServerOptions"] == nil, let own = note["options"]?.objectValue {
                options["liveQueryServerOptions"] = .object(own)
            }
            add("createLiveQueryServer", .applied, "live queries are served on Roost's port", at: place)
        case "graphQL":
            add("ParseGraphQLServer", .decide, "Roost has no GraphQL. Remove it", at: place)
        case "ownApplication":
            add(
                "server.app.\(note["name"]?.stringValue ?? "")", .decide,
                "routes can't be added to the application of ParseServer. Add them to your own Express application",
                at: place)
        case "dashboard":
            add("parse-dashboard", .changed, "it redirects to Roost's console", at: place)
        case "rejection":
            let first = note["text"]?.stringValue?.split(separator: "\n").first.map(String.init) ?? ""
            add("app", .left, "it failed after creating its server: \(first)", at: place)
        case let what?:
            add("app", .left, "it \(what) when it runs", at: place)
        case nil: break
        }
    }
}

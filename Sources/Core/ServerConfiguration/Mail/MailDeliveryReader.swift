import JSON
import Platform

extension Configuration.MailDelivery {
    /// Reads the option `emailAdapter`: one of Roost's modules, one of parse-server's with its own options, or another
    /// one that runs in Node.js.
    ///
    /// - Parameter warnings: Receives a warning for each option without effect.
    /// - Throws: `ConfigurationError` for a missing module, a module that can't be converted, or invalid settings.
    init(_ adapter: JSONValue, warnings: inout [String]) throws(ConfigurationError) {
        guard let module = adapter.stringValue ?? adapter["module"]?.stringValue else {
            throw ConfigurationError(
                "option emailAdapter needs a module, for example {\"module\":\"smtp\",\"options\":{…}}")
        }
        if let options = adapter["options"], !options.isNull, options.objectValue == nil {
            throw ConfigurationError("option emailAdapter.options must be an object")
        }
        for key in adapter.objectValue?.keys.elements ?? [] where !["module", "options"].contains(key) {
            warnings.append("option emailAdapter.\(key) has no effect")
        }
        if module == Self.ofApp || Self.isPath(module) {
            // The adapter itself knows the sender's address.
            self.init(sender: "", transport: .node(module == Self.ofApp ? true : adapter))
            return
        }
        var options = AdapterOptions(module, adapter["options"]?.objectValue ?? [:])
        switch module {
        case "smtp": self = try Self.smtp(&options)
        case "mailgun": self = try Self.mailgun(&options)
        case "ses": self = try Self.ses(&options)
        case "http": self = try Self.http(&options)
        default:
            guard let delivery = try ParseServerMailAdapter.delivery(&options) else {
                guard !module.isEmpty else { throw ParseServerMailAdapter.unknown(module) }
                self.init(sender: "", transport: .node(adapter))
                return
            }
            self = delivery
            warnings += options.unknown.map { "option \($0) has no effect" }
            return
        }
        replyTo = try options.text("replyTo")
        templates = try Configuration.MailTemplates(&options)
        try options.checkAllKnown()
    }

    /// The module name of an adapter that the app's own index.js defines.
    package static let ofApp = "roost:app"

    private static func isPath(_ module: String) -> Bool { ["./", "../", "/"].contains(where: module.hasPrefix) }

    /// Checks that the package of an adapter that runs in Node.js is installed.
    ///
    /// - Parameter folders: The folders to search, and their parents, for `node_modules` with the package.
    /// - Throws: `ConfigurationError` with a replacement if it isn't installed.
    package func checkPackage(in folders: [String]) throws(ConfigurationError) {
        guard case .node(let adapter) = transport, let module = adapter.stringValue ?? adapter["module"]?.stringValue,
            !Self.isPath(module)
        else { return }
        for folder in folders {
            var steps = URL(fileURLWithPath: folder).standardizedFileURL.path.split(separator: "/")
            while true {
                let place = steps.map { "/\($0)" }.joined() + "/node_modules/\(module)"
                if FileManager.default.fileExists(atPath: place) { return }
                if steps.popLast() == nil { break }
            }
        }
        throw ParseServerMailAdapter.unknown(module)
    }

    static func smtp(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self {
        let host = try options.needed("host")
        let sender = try options.sender("from")
        let isSecure = try options.flag("secure") ?? false
        let server = Configuration.SMTP(
            host: host, port: try options.port("port", isSecure ? 465 : 587), isSecure: isSecure,
            login: try .either(&options), clientName: try options.text("name"))
        return Self(sender: sender, transport: .smtp(server))
    }

    static func mailgun(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self {
        Self(
            sender: try options.sender("from", "fromAddress"),
            transport: .mailgun(
                Configuration.Mailgun(
                    domain: try options.needed("domain"), apiKey: try options.needed("apiKey"),
                    host: try Self.host(&options))))
    }

    /// Returns the Mailgun host. Some versions of Mailgun's client have it as a URL, in the option `url`.
    private static func host(_ options: inout AdapterOptions) throws(ConfigurationError) -> String {
        let (name, address) = (try options.text("host"), try options.text("url"))
        var host = (name ?? address ?? "api.mailgun.net")[...]
        if host.hasPrefix("https://") { host = host.dropFirst("https://".count) }
        if host.hasSuffix("/") { host = host.dropLast() }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#@".utf8.contains($0) }) else {
            let form = name == nil ? "url must be a URL such as https://" : "host must be a host name such as "
            throw ConfigurationError("option emailAdapter.options.\(form)api.eu.mailgun.net")
        }
        return String(host)
    }

    static func ses(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self {
        let sender = try options.sender("from", "fromAddress")
        let region = try options.needed("region")
        guard region.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains) else {
            throw ConfigurationError("option emailAdapter.options.region must be a region such as eu-west-1")
        }
        return Self(
            sender: sender,
            transport: .ses(
                Configuration.SES(
                    region: region, accessKeyId: try options.needed("accessKeyId"),
                    secretAccessKey: try options.needed("secretAccessKey"),
                    sessionToken: try options.text("sessionToken"),
                    endpoint: try options.url("endpoint") ?? "https://email.\(region).amazonaws.com")))
    }

    static func http(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self {
        let sender = try options.sender("from")
        guard let url = try options.url("url") else {
            throw ConfigurationError("option emailAdapter.options.url is missing")
        }
        let method = try options.text("method") ?? "POST"
        guard ["POST", "PUT"].contains(method) else {
            throw ConfigurationError("option emailAdapter.options.method must be POST or PUT")
        }
        var headers: [(name: String, value: String)] = []
        for (name, value) in try options.object("headers") ?? [:] {
            guard let text = value.stringValue, Self.isField(name.text, text) else {
                throw ConfigurationError(
                    "option emailAdapter.options.headers.\(name) must have a valid header name and a string value "
                        + "without control characters")
            }
            headers.append((name.text, text))
        }
        guard let body = try Self.body(options.value("body"), "body") else {
            throw ConfigurationError("option emailAdapter.options.body is missing")
        }
        var bodies: [Name: Configuration.HTTPMail.Body] = [:]
        for (name, value) in try options.object("bodies") ?? [:] {
            guard Configuration.MailTemplates.names.contains(name) else {
                throw ConfigurationError("error: unknown option emailAdapter.options.bodies.\(name)")
            }
            bodies[name] = try Self.body(value, "bodies.\(name)")
        }
        return Self(
            sender: sender,
            transport: .http(
                Configuration.HTTPMail(method: method, url: url, headers: headers, body: body, bodies: bodies)))
    }

    private static func body(_ value: JSONValue?, _ key: String) throws(ConfigurationError)
        -> Configuration.HTTPMail.Body?
    {
        switch value {
        case .string(let text) where !text.isEmpty: .text(text)
        case .object, .array: value.map { .json($0) }
        case nil, .null: nil
        default: throw ConfigurationError("option emailAdapter.options.\(key) must be a string, object or list")
        }
    }

    private static func isField(_ name: String, _ value: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

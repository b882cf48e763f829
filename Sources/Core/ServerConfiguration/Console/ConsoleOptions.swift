import Encoding
import JSON

extension OptionTable {
    static let console: [OptionDefinition] = [
        OptionDefinition(
            "console", "ROOST_CONSOLE", .object,
            "The page /console. enabled: thisMachine (default; browsers on this machine), true (those in addresses) "
                + "or false. hosts: additional host names. signIn: operators (default), or thisMachine for "
                + "development. backupFolder: backups of the embedded PostgreSQL",
            members: [
                .custom("enabled", nil, .any, \.console.reach) { value, name throws(ConfigurationError) in
                    switch value {
                    case .bool(true), .string("true"): .addresses
                    case .bool(false), .string("false"): .closed
                    case .string("thisMachine"): .thisMachine
                    default: throw .invalid(name, "true, false or \"thisMachine\"")
                    }
                },
                .custom("path", nil, .string, \.console.path) { value, name throws(ConfigurationError) in
                    try Configuration.Console.path(value.stringValue ?? "", name)
                },
                .addresses("addresses", nil, \.console.addresses, ""),
                .texts("hosts", nil, \.console.hosts),
                .choice("signIn", \.console.signIn),
                .flag("allowPlainHTTP", nil, \.console.allowsPlainHTTP),
                .whole("sessionLength", nil, \.console.sessionLength, in: 60...604_800),
                .whole("auditDays", nil, \.console.auditDays, in: 1...36_500),
                .text("backupFolder", nil, \.console.backupFolder, ""),
            ], variables: .init(prefix: "ROOST_CONSOLE")
        ).checked(beside: ["host", "mountPath", "trustProxy", "publicServerURL"]) {
            configuration throws(ConfigurationError) in try configuration.console.check(configuration)
        },
        .text(
            "consoleFolder", "ROOST_CONSOLE_FOLDER", \.consoleFolder,
            "The folder of the console's files during development; default those in the binary"),
    ]
}

extension Configuration {
    /// Whether the console, with which operators move objects to the trash, is enabled.
    public var hasTrash: Bool { console.reach != .closed }

    /// The number of days after which audit entries are removed, or nil if nothing is audited.
    public var auditDays: Int? { hasTrash || !audit.events.isEmpty ? console.auditDays : nil }

    /// The option `console`: access to the administration page.
    public struct Console: Sendable {
        /// The clients that can open the page.
        public enum Reach: Sendable, Equatable {
            /// Clients on this machine, unless a header field indicates a proxy.
            case thisMachine
            /// Clients whose address is in ``addresses``.
            case addresses
            /// No clients.
            case closed
        }

        /// The ways to sign in.
        public enum SignIn: String, Sendable, CaseIterable {
            /// With an operator's name and password, a master key (also an admin or read-only one) or a ticket.
            case operators
            /// The same, for development. Actions that can't be undone need no confirmation in sessions opened by a
            /// ticket, and the server counts requests for charts even if metrics are off.
            case thisMachine
        }

        public var reach = Reach.thisMachine
        /// The path of the page, without a trailing slash.
        public var path = "/console"
        /// Addresses and networks that can open the page if ``reach`` is ``Reach/addresses``.
        public var addresses = Configuration.thisMachine
        /// Allowed host names in addition to those of this machine and of `publicServerURL`.
        public var hosts: [String] = []
        public var signIn = SignIn.operators
        /// Whether other machines can open the page without TLS.
        public var allowsPlainHTTP = false
        /// The time in seconds without a request after which a session ends.
        public var sessionLength = 43_200
        /// The age in days at which audit-log entries are removed, unless the console and the audit log are off.
        public var auditDays = 90
        /// The folder of backups made with the console, or nil to disable them.
        public var backupFolder: String?

        /// Returns the path without a trailing slash.
        ///
        /// - Throws: `ConfigurationError` for the root, and for components that need escaping or are `.` or `..`.
        static func path(_ text: String, _ name: String) throws(ConfigurationError) -> String {
            let components = text.split(separator: "/")
            let isPlain = components.allSatisfy { component in
                component != "." && component != ".."
                    && component.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) }
            }
            guard !components.isEmpty, isPlain else { throw .invalid(name, "a path such as /console") }
            return components.map { "/" + $0 }.joined()
        }

        /// Checks the option against the options that determine who can reach the server.
        ///
        /// - Throws: `ConfigurationError` if the API is at or below the page's path, or if sign-in for development
        ///   would be reachable from other machines.
        func check(_ configuration: Configuration) throws(ConfigurationError) {
            guard reach != .closed else { return }
            if (configuration.mount + "/").hasPrefix(path + "/") {
                throw ConfigurationError(
                    "option console.path can't be at or above mountPath (\(configuration.mount))")
            }
            guard signIn == .thisMachine else { return }
            let conflict: (other: String, remedy: String)? =
                if !Self.isLoopback(configuration.host) {
                    ("host \(configuration.host)", "Set host to 127.0.0.1")
                } else if reach == .addresses {
                    ("console.enabled true", "Remove console.enabled")
                } else if configuration.trustProxy != .noProxy {
                    ("trustProxy", "Remove trustProxy")
                } else if let url = configuration.publicServerURL, !Self.isOfThisMachine(url) {
                    ("publicServerURL \(url)", "Remove publicServerURL")
                } else {
                    nil
                }
            if let conflict {
                throw ConfigurationError(
                    "option console.signIn: thisMachine can't be combined with \(conflict.other), because only this "
                        + "machine may reach the server. \(conflict.remedy), or remove signIn: the address printed at "
                        + "start also signs you in")
            }
        }

        public static func isLoopback(_ host: String) -> Bool {
            host == "localhost" || IPAddress(host)?.isLoopback == true
        }

        /// Returns whether a URL names this machine, so that other machines can't use it.
        public static func isOfThisMachine(_ url: String) -> Bool {
            guard let scheme = url.firstRange(of: "://") else { return false }
            let authority = url[scheme.upperBound...].prefix { $0 != "/" }
            return authority.hasPrefix("[::1]") || isLoopback(String(authority.prefix { $0 != ":" }))
        }
    }
}

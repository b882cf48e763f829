public import JSON

extension Configuration {
    /// How mails are sent, and what they say: the option `emailAdapter`.
    public struct MailDelivery: Sendable {
        /// The sender, an address or `Name <address>`.
        public var sender: String
        /// Where answers go to; nil for the sender.
        public var replyTo: String?
        /// What takes mails to their recipients.
        public var transport: MailTransport
        /// What mails say.
        public var templates: MailTemplates

        init(
            sender: String, replyTo: String? = nil, transport: MailTransport, templates: MailTemplates = MailTemplates()
        ) {
            self.sender = sender
            self.replyTo = replyTo
            self.transport = transport
            self.templates = templates
        }

        /// Mails that the terminal shows.
        public static let onTerminal = MailDelivery(sender: "roost@localhost", transport: .terminal)
    }

    /// What takes mails to their recipients.
    public enum MailTransport: Sendable {
        case smtp(SMTP)
        case mailgun(Mailgun)
        case ses(SES)
        case http(HTTPMail)
        /// Prints them.
        case terminal
        /// An adapter of the app's own, which runs in Node: its module and options, or true for one that an app's own
        /// index.js gives.
        case node(JSONValue)

        /// Whether it makes HTTP requests.
        public var isHTTP: Bool {
            switch self {
            case .mailgun, .ses, .http: return true
            case .terminal, .node: return false
            case .smtp(let server):
                guard case .token(_, .refreshed)? = server.login else { return false }
                return true
            }
        }
    }

    /// A server that takes mails by SMTP.
    public struct SMTP: Sendable, Equatable {
        /// The name or address of the server.
        public var host: String
        public var port: Int
        /// Whether TLS begins with the connection. Otherwise it begins when the server offers it (STARTTLS).
        public var isSecure: Bool
        /// How the client logs in; nil for not at all.
        public var login: SMTPLogin?
        /// The name by which the client introduces itself; nil for that of the machine.
        public var clientName: String?

        package init(host: String, port: Int, isSecure: Bool, login: SMTPLogin? = nil, clientName: String? = nil) {
            self.host = host
            self.port = port
            self.isSecure = isSecure
            self.login = login
            self.clientName = clientName
        }
    }

    /// A domain of Mailgun's.
    public struct Mailgun: Sendable, Equatable {
        public var domain: String
        public var apiKey: String
        /// `api.mailgun.net`, or `api.eu.mailgun.net` for domains in the EU.
        public var host: String
    }

    /// An account of Amazon SES.
    public struct SES: Sendable, Equatable {
        public var region: String
        public var accessKeyId: String
        public var secretAccessKey: String
        /// The token of temporary credentials; nil for lasting ones.
        public var sessionToken: String?
        /// The base of addresses, without a slash at its end.
        public var endpoint: String
    }

    /// A service that takes mails by a request of HTTP.
    public struct HTTPMail: Sendable {
        public var method: String
        public var url: String
        public var headers: [(name: String, value: String)]
        /// The body of requests.
        public var body: Body
        /// Bodies for mails of single kinds, by the names of these.
        public var bodies: [Name: Body]

        /// A body: templates of Mustache's.
        public enum Body: Sendable {
            /// A text of JSON, in which values are escaped as JSON strings.
            case text(String)
            /// JSON whose strings are templates. Those that come out empty are left out.
            case json(JSONValue)
        }
    }
}

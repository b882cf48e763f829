public import JSON

extension Configuration {
    /// The option `emailAdapter`: the transport and the templates of emails.
    public struct MailDelivery: Sendable {
        /// The sender, as an address or as `Name <address>`. Empty for adapters in Node.js.
        public var sender: String
        /// The reply address, or nil to use the sender's.
        public var replyTo: String?
        public var transport: MailTransport
        public var templates = MailTemplates()

        /// A delivery that prints emails on the terminal.
        public static let onTerminal = MailDelivery(sender: "roost@localhost", transport: .terminal)
    }

    /// The way emails are sent.
    public enum MailTransport: Sendable {
        case smtp(SMTP)
        case mailgun(Mailgun)
        case ses(SES)
        case http(HTTPMail)
        /// Prints emails on the terminal.
        case terminal
        /// An adapter that runs in Node.js: its module and options, or true if the app's index.js defines it.
        case node(JSONValue)

        /// Whether sending an email requires HTTP requests.
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

    /// An SMTP server.
    public struct SMTP: Sendable, Equatable {
        /// The host name or IP address.
        public var host: String
        public var port: Int
        /// Whether TLS starts with the connection. If not, STARTTLS is used if offered, and required for a log-in.
        public var isSecure: Bool
        /// The credentials, or nil to connect without logging in.
        public var login: SMTPLogin?
        /// The client's name in `EHLO`, or nil to use the machine's name.
        public var clientName: String?

        package init(host: String, port: Int, isSecure: Bool, login: SMTPLogin? = nil, clientName: String? = nil) {
            self.host = host
            self.port = port
            self.isSecure = isSecure
            self.login = login
            self.clientName = clientName
        }
    }

    /// A Mailgun domain.
    public struct Mailgun: Sendable, Equatable {
        public var domain: String
        public var apiKey: String
        /// `api.mailgun.net`, or `api.eu.mailgun.net` for domains in the EU.
        public var host: String
    }

    /// An Amazon SES account.
    public struct SES: Sendable, Equatable {
        public var region: String
        public var accessKeyId: String
        public var secretAccessKey: String
        /// The session token of temporary credentials, or nil for permanent ones.
        public var sessionToken: String?
        /// The base URL, without a trailing slash.
        public var endpoint: String
    }

    /// A mail service with an HTTP API.
    public struct HTTPMail: Sendable {
        public var method: String
        public var url: String
        public var headers: [(name: String, value: String)]
        /// The default body of requests.
        public var body: Body
        /// Bodies that replace the default for some emails, by the email's name.
        public var bodies: [Name: Body]

        /// The template of a request body, in Mustache syntax.
        public enum Body: Sendable {
            /// A template of JSON text. Values are escaped as JSON strings.
            case text(String)
            /// A JSON value whose strings are templates. Strings that render empty are omitted.
            case json(JSONValue)
        }
    }
}

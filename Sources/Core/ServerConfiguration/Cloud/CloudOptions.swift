import JSON

extension OptionTable {
    /// Cloud code in JavaScript: an app's `cloud/main.js`, run by Node.
    static let cloudMain: [OptionDefinition] = [
        .text(
            "cloud", "PARSE_SERVER_CLOUD", \.cloudMain.main,
            "Cloud code in JavaScript, such as ./cloud/main.js; needs Node.js 18 or later"),
        .text(
            "cloudApp", "ROOST_CLOUD_APP", \.cloudMain.routesFile,
            "The app's own HTTP routes, such as ./cloud/app.js: those of a global Express app or of an exported app"),
        .text(
            "publicFolder", "ROOST_PUBLIC_FOLDER", \.cloudMain.publicFolder,
            "A folder whose files Node.js serves beside the interface, such as ./public"),
        .text(
            "cloudNode", "ROOST_CLOUD_NODE", \.cloudMain.node,
            "The program that runs it; default node on the PATH"),
        .whole(
            "cloudWorkers", "ROOST_CLOUD_WORKERS", \.cloudMain.workers, in: 1...64,
            "Processes that run it; they share no variables"),
        .milliseconds(
            "cloudTimeout", "ROOST_CLOUD_TIMEOUT", \.cloudMain.timeLimit,
            "Time limit of its functions and triggers, in milliseconds; 0 for none"),
        .flag(
            "cloudLegacyCallbacks", "ROOST_CLOUD_LEGACY_CALLBACKS", \.cloudMain.legacyCallbacks,
            "Expects handlers with two parameters to call response.success or response.error, as before "
                + "parse-server 3"),
        .flag(
            "cloudHttpRequest", "ROOST_CLOUD_HTTP_REQUEST", \.cloudMain.httpRequest,
            "Provides Parse.Cloud.httpRequest, as before parse-server 6"),
        .flag(
            "encodeParseObjectInCloudFunction", "PARSE_SERVER_ENCODE_PARSE_OBJECT_IN_CLOUD_FUNCTION",
            \.cloudMain.decodesPointers, older: [7: false],
            "Passes pointers in parameters of functions as objects"),
        .flag(
            "watch", "ROOST_WATCH", \.cloudMain.isWatching,
            "Reloads cloud code when its files change, for development"),
    ]

    static let webhooks: [OptionDefinition] = [
        .text(
            "webhookKey", "PARSE_SERVER_WEBHOOK_KEY", \.webhooks.key,
            "Sent to webhooks as X-Parse-Webhook-Key"),
        .milliseconds(
            "webhookTimeout", "ROOST_WEBHOOK_TIMEOUT", \.webhooks.timeout,
            "Time limit of a webhook, in milliseconds; 0 for none"),
        .whole(
            "webhookConnections", "ROOST_WEBHOOK_CONNECTIONS", \.webhooks.connections, in: 1...10_000,
            "Open calls to one webhook host; ten times as many may wait"),
    ]

    static let jobs: [OptionDefinition] = [
        .flag(
            "jobSchedules", "ROOST_JOB_SCHEDULES", \.jobSchedules,
            "Runs scheduled jobs, each on one of the processes"),
        .whole(
            "maximumJobs", "ROOST_MAXIMUM_JOBS", \.maximumJobs, in: 1...100_000,
            "The most running jobs of a process"),
    ]
}

extension Configuration {
    /// Cloud code in JavaScript.
    public struct CloudMain: Sendable {
        /// The app's file; nil for none.
        public var main: String?
        /// The file of the app's own routes, or nil if it has none.
        public var routesFile: String?
        /// The folder of static files, or nil for none.
        public var publicFolder: String?
        /// The program that runs it; nil for the one on the PATH.
        public var node: String?
        /// How many processes run it.
        public var workers = 1
        /// How long functions and triggers are waited for; nil for as long as they take.
        public var timeLimit: Duration? = .seconds(60)
        /// Whether handlers with two parameters say by the second when they are done.
        public var legacyCallbacks = false
        /// Whether `Parse.Cloud.httpRequest` is there.
        public var httpRequest = false
        /// Whether it is loaded again when its files change.
        public var isWatching = false
        /// How the file, an app's own index.js, makes the server; nil for `cloud/main.js`.
        package var app: App?
        /// The folder from which modules of adapters are found.
        package var folder = "/"
        /// Whether pointers in parameters of functions become objects (`encodeParseObjectInCloudFunction`).
        public var decodesPointers = true

        init() {}

        /// Whether the processes serve routes of their own.
        package var servesRoutes: Bool { app?.listens == true || routesFile != nil || publicFolder != nil }

        /// An app's own index.js, which makes the server.
        package struct App: Sendable {
            /// The folder in which it runs.
            package var folder: String
            /// Which of the servers that it makes this one is.
            package var server: Int
            /// Whether it listens, so that it has routes of its own.
            package var listens: Bool
            /// The providers of the option `auth` whose adapters the app gives as objects or classes.
            package var providers: [Name]

            /// The options that the app gives as functions.
            package var functions: Set<OptionFunction>

            package init(
                folder: String, server: Int, listens: Bool, providers: [Name], functions: Set<OptionFunction> = []
            ) {
                (self.folder, self.server, self.listens, self.providers) = (folder, server, listens, providers)
                self.functions = functions
            }
        }
    }

    /// An option whose function in the app's index.js Node.js calls at each use. Options that may be values, too, are true
    /// in the configuration.
    package enum OptionFunction: String, Sendable, CaseIterable {
        case verifyUserEmails, preventLoginWithUnverifiedEmail, sendUserEmailVerification
        case validatorCallback = "passwordPolicy.validatorCallback"
        /// Called again when the key has grown old.
        case masterKey
    }

    /// The sign-in adapters that run in Node, by provider: what the option `auth` says of a module, or null for one that
    /// an app's own index.js gives.
    package var nodeProviders: JSONObject {
        var providers: JSONObject = [:]
        for (name, options) in auth where options["enabled"] != false {
            let module = options["module"]?.orNil ?? options["class"]?.orNil ?? options["adapter"]?.orNil
            if module?.stringValue != nil { providers[name] = options }
        }
        for name in cloudMain.app?.providers ?? [] where auth[name]?["enabled"] != false { providers[name] = .null }
        return providers
    }

    /// The mail adapter that runs in Node; nil for none, true for one that an app's own index.js gives.
    package var nodeMail: JSONValue? {
        if case .node(let adapter)? = accountMail.delivery?.transport { adapter } else { nil }
    }

    /// How webhooks are called.
    public struct Webhooks: Sendable {
        /// What webhooks are sent, so that they know who calls; nil for nothing.
        public var key: String?
        /// How long a webhook is waited for; nil for as long as it takes.
        public var timeout: Duration? = .seconds(30)
        /// How many calls are open to one host of webhooks at a time.
        public var connections = 100
    }
}

import JSON

extension OptionTable {
    /// Options for cloud code in JavaScript: an app's `cloud/main.js`, run by Node.js.
    static let cloudMain: [OptionDefinition] = [
        .text(
            "cloud", "PARSE_SERVER_CLOUD", \.cloudMain.main,
            "Cloud code in JavaScript, such as ./cloud/main.js; needs Node.js 18 or later"),
        .text(
            "cloudApp", "ROOST_CLOUD_APP", \.cloudMain.routesFile,
            "The file that adds routes to a global or exported Express app, such as ./cloud/app.js"),
        .text(
            "publicFolder", "ROOST_PUBLIC_FOLDER", \.cloudMain.publicFolder,
            "A folder whose files Node.js serves next to the API, such as ./public"),
        .text(
            "cloudNode", "ROOST_CLOUD_NODE", \.cloudMain.node,
            "The Node.js program for cloud code; default node on the PATH"),
        .whole(
            "cloudWorkers", "ROOST_CLOUD_WORKERS", \.cloudMain.workers, in: 1...64,
            "Number of Node.js processes for cloud code; they share no variables"),
        .milliseconds(
            "cloudTimeout", "ROOST_CLOUD_TIMEOUT", \.cloudMain.timeLimit,
            "Time limit of cloud functions and triggers in JavaScript, in milliseconds; 0 for none"),
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
            "Passes pointers in function parameters as Parse objects"),
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
            "Maximum number of concurrent calls to one webhook host; ten times as many can be queued"),
    ]

    static let jobs: [OptionDefinition] = [
        .flag(
            "jobSchedules", "ROOST_JOB_SCHEDULES", \.jobSchedules,
            "Runs scheduled jobs, each run in one process"),
        .whole(
            "maximumJobs", "ROOST_MAXIMUM_JOBS", \.maximumJobs, in: 1...100_000,
            "Maximum number of running jobs in a process"),
    ]
}

extension Configuration {
    /// Settings for cloud code in JavaScript.
    public struct CloudMain: Sendable {
        /// The path of the app's main file, or nil if there is no JavaScript cloud code.
        public var main: String?
        /// The path of the file that defines the app's own routes, or nil if the app has none.
        public var routesFile: String?
        /// The path of the folder of static files, or nil if the app has none.
        public var publicFolder: String?
        /// The path of Node.js, or nil to use the first `node` on the PATH.
        public var node: String?
        /// The number of Node.js processes.
        public var workers = 1
        /// The time limit of functions and triggers, or nil for no limit.
        public var timeLimit: Duration? = .seconds(60)
        /// Whether handlers with two parameters finish by calling their second one, the response.
        public var legacyCallbacks = false
        /// Whether `Parse.Cloud.httpRequest` is available.
        public var httpRequest = false
        /// Whether changed files are reloaded.
        public var isWatching = false
        /// The app's own index.js that creates the server, or nil if there is none.
        package var app: App?
        /// The folder that module names of adapters are resolved in.
        package var folder = "/"
        /// Whether pointers in parameters of functions become objects (`encodeParseObjectInCloudFunction`).
        public var decodesPointers = true

        /// Whether the Node.js processes serve HTTP routes or static files.
        package var servesRoutes: Bool { app?.listens == true || routesFile != nil || publicFolder != nil }

        /// An app's own index.js that creates the server.
        package struct App: Sendable {
            /// The working directory.
            package var folder: String
            /// The index of this server among the servers that the app creates.
            package var server: Int
            /// Whether the app listens on a port, and therefore has its own routes.
            package var listens: Bool
            /// The name of the `listen` call that serves the app's routes, or nil if the app makes at most one.
            package var listen: String?
            /// The providers in `auth` whose adapters are objects or classes in the app's code.
            package var providers: [Name]

            /// The options that are functions in the app's code.
            package var functions: Set<OptionFunction>

            package init(
                folder: String, server: Int, listens: Bool, listen: String? = nil, providers: [Name],
                functions: Set<OptionFunction> = []
            ) {
                (self.folder, self.server, self.listens, self.providers) = (folder, server, listens, providers)
                (self.listen, self.functions) = (listen, functions)
            }
        }
    }

    /// An option that is a function in the app's index.js. Node.js calls it at each use, except for `masterKey`.
    package enum OptionFunction: String, Sendable, CaseIterable {
        case verifyUserEmails, preventLoginWithUnverifiedEmail, sendUserEmailVerification
        case validatorCallback = "passwordPolicy.validatorCallback"
        /// Called in the background whenever the key is older than `masterKeyTtl`.
        case masterKey
    }

    /// The sign-in adapters that run in Node.js, by provider: the provider's options in `auth`, or null if the app's
    /// own index.js defines the adapter.
    package var nodeProviders: JSONObject {
        var providers: JSONObject = [:]
        for (name, options) in auth where options["enabled"] != false {
            let module = options["module"]?.orNil ?? options["class"]?.orNil ?? options["adapter"]?.orNil
            if module?.stringValue != nil { providers[name] = options }
        }
        for name in cloudMain.app?.providers ?? [] where auth[name]?["enabled"] != false { providers[name] = .null }
        return providers
    }

    /// The mail adapter that runs in Node.js: its module and options, true if the app's own index.js defines it, or nil
    /// if emails are sent without Node.js.
    package var nodeMail: JSONValue? {
        if case .node(let adapter)? = accountMail.delivery?.transport { adapter } else { nil }
    }

    /// Settings for webhook calls.
    public struct Webhooks: Sendable {
        /// The key that webhooks receive to authenticate the server, or nil to send none.
        public var key: String?
        /// The time limit of a call, or nil for no limit.
        public var timeout: Duration? = .seconds(30)
        /// The maximum number of concurrent calls per webhook host.
        public var connections = 100
    }
}

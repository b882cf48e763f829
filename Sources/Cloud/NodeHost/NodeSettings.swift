import JSON
import ServerConfiguration

package struct NodeSettings: Sendable {
    /// The path of the app's file, or a placeholder if ``hasMain`` is false.
    package var main: String
    package var node: String
    /// The properties of an app's own index.js, or nil for `cloud/main.js`.
    package var app: Configuration.CloudMain.App?
    /// Whether there is a file to load. Otherwise the processes only run adapters and routes.
    package var hasMain = true
    /// The sign-in adapters' options by provider, or null for those that an app's own index.js provides.
    package var providers: JSONObject = [:]
    /// The mail adapter's module and options, `true` if an app's own index.js provides it, or nil if there is none.
    package var mail: JSONValue?
    /// The options `cloudApp` and `publicFolder`, if set.
    package var routes: JSONObject = [:]
    /// The folder from which Node resolves the modules of adapters and routes.
    package var folder = "/"
    /// The path to which an app's Parse Dashboard redirects.
    package var dashboardPath = "/"
    /// The number of processes.
    package var workers = 1
    /// Whether the file is reloaded if it or another script or JSON file in its folder or a subfolder changes.
    package var isWatching = false
    /// Whether handlers with two parameters get the callbacks of parse-server before version 3, such as `success`.
    package var legacyCallbacks = false
    /// Whether `Parse.Cloud.httpRequest` is available.
    package var httpRequest = false
    /// Whether pointers in function parameters are decoded to objects.
    package var decodesPointers = true
    /// The time limit for functions and triggers, or nil for none.
    package var timeLimit: Duration? = .seconds(60)
    /// The time limit for loading the file.
    package var startLimit = Duration.seconds(60)
    /// The interval of pings that check the event loop. After two missed responses the process is killed.
    package var pingInterval = Duration.seconds(5)
    /// The time limit for the remaining calls of a replaced process.
    package var drainLimit = Duration.seconds(30)
    /// The delay before a process is restarted, by the number of consecutive crashes.
    package var backOff: [Duration] = [.milliseconds(200), .seconds(1), .seconds(5), .seconds(15), .seconds(30)]
    /// The maximum time that calls wait for a process if none is running.
    package var startWait = Duration.seconds(5)
    /// The maximum number of open calls per process and nesting depth, on average over the processes.
    package var openCalls = 256
    package var waitingCalls = 1000
    /// The maximum size in bytes of a message from a process.
    package var messageLimit = 64 * 1024 * 1024
    /// The maximum size in bytes of a message to a process.
    package var frameLimit = 64 * 1024 * 1024
    /// The app id for the SDK in the process.
    package var applicationId = ""
    package var masterKey = ""
    /// The master key returned by the app's function, or nil if the key isn't renewed. Replaces `masterKey`, and is
    /// renewed every `masterKeyTtl` seconds.
    package var renewedKey: RenewedKey?
    package var masterKeyTtl = 0
    package var javascriptKey: String?
    /// The major version of parse-server whose conventions the app's code follows.
    package var preset = 9
    /// The API URL, for SDK requests that use HTTP.
    package var serverURL = ""

    package init(main: String, node: String) {
        self.main = main
        self.node = node
    }

    /// Reads the settings from the configuration. Returns nil if nothing in it requires Node.
    ///
    /// - Throws: `ConfigurationError` if the file or Node can't be found, or an option is invalid.
    package init?(_ configuration: Configuration) throws(ConfigurationError) {
        let providers = configuration.nodeProviders
        let mail = configuration.nodeMail
        var routes: JSONObject = [:]
        routes["cloudApp"] = configuration.cloudMain.routesFile.map(JSONValue.string)
        routes["publicFolder"] = configuration.cloudMain.publicFolder.map(JSONValue.string)
        guard configuration.cloudMain.main != nil || !providers.isEmpty || mail != nil || !routes.isEmpty else {
            return nil
        }
        guard mail != true || configuration.cloudMain.app != nil else {
            throw ConfigurationError(
                "option emailAdapter.module must be a file or package. \(Configuration.MailDelivery.ofApp) only stands "
                    + "for an adapter in an index.js")
        }
        if let option = routes.keys.first, configuration.mount.isEmpty {
            throw ConfigurationError(
                "option \(option) can't be used with mountPath \"/\". Set mountPath to another path, such as /parse")
        }
        self.init(
            main: try configuration.cloudMain.main.map(NodeProgram.checkedFile)
                ?? configuration.cloudMain.folder + "/adapters.js",
            node: try NodeProgram.find(configuration.cloudMain.node))
        hasMain = configuration.cloudMain.main != nil
        self.providers = providers
        self.mail = mail
        self.routes = routes
        folder = configuration.cloudMain.folder
        dashboardPath = configuration.dashboardPath
        app = configuration.cloudMain.app
        workers = configuration.cloudMain.workers
        isWatching = configuration.cloudMain.isWatching
        legacyCallbacks = configuration.cloudMain.legacyCallbacks
        httpRequest = configuration.cloudMain.httpRequest
        decodesPointers = configuration.cloudMain.decodesPointers
        timeLimit = configuration.cloudMain.timeLimit
        messageLimit = max(configuration.maxUploadSize, configuration.maxResponseSize)
        applicationId = configuration.appId
        masterKey = configuration.masterKey
        (renewedKey, masterKeyTtl) = (configuration.renewedMasterKey, configuration.masterKeyTtl)
        javascriptKey = configuration.javascriptKey
        preset = configuration.preset
        serverURL = configuration.serverURL
    }
}

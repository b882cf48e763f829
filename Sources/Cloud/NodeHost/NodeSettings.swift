import JSON
import ServerConfiguration

/// The part of the configuration that a host of `cloud/main.js` gets.
package struct NodeSettings: Sendable {
    /// The app's file.
    package var main: String
    package var node: String
    /// How the file, an app's own index.js, makes the server; nil for `cloud/main.js`.
    package var app: Configuration.CloudMain.App?
    /// Whether there is a file; else the processes run sign-in adapters alone.
    package var hasMain = true
    /// The sign-in adapters, by provider; null for those that an app's own index.js gives.
    package var providers: JSONObject = [:]
    /// The mail adapter; nil for none, true for one that an app's own index.js gives.
    package var mail: JSONValue?
    /// The options `cloudApp` and `publicFolder`, as far as they are set.
    package var routes: JSONObject = [:]
    /// The folder from which their modules are found.
    package var folder = "/"
    /// How many processes run the file.
    package var workers = 1
    /// Whether the file is loaded again when it, or one beside it, changes.
    package var isWatching = false
    /// Whether handlers with two parameters say by the second when they are done.
    package var legacyCallbacks = false
    /// Whether `Parse.Cloud.httpRequest` is there.
    package var httpRequest = false
    /// Whether pointers in parameters of functions become objects.
    package var decodesPointers = true
    /// How long functions and triggers are waited for; nil for as long as they take.
    package var timeLimit: Duration? = .seconds(60)
    /// How long the file may take to load.
    package var startLimit = Duration.seconds(60)
    /// How often a process is asked whether its event loop is alive; two missed answers are its end.
    package var pingInterval = Duration.seconds(5)
    /// How long calls may go on in a process that another one has taken the place of.
    package var drainLimit = Duration.seconds(30)
    /// How long a process is waited for before the next one is started in its place, by how many died one after
    /// another.
    package var backOff: [Duration] = [.milliseconds(200), .seconds(1), .seconds(5), .seconds(15), .seconds(30)]
    /// How long calls wait for a process when none is there.
    package var startWait = Duration.seconds(5)
    /// The most calls that are open at a time for each process, and the most that wait for their turn.
    package var openCalls = 256
    package var waitingCalls = 1000
    /// The most bytes of a message from a process.
    package var messageLimit = 64 * 1024 * 1024
    /// The most bytes of a message to a process.
    package var frameLimit = 64 * 1024 * 1024
    /// Keys that the SDK in the process is given.
    package var applicationId = ""
    package var masterKey = ""
    /// The key in place of `masterKey` if a function gives it again and again, and after how many seconds it does.
    package var renewedKey: RenewedKey?
    package var masterKeyTtl = 0
    package var javascriptKey: String?
    /// The URL of the interface, for what the SDK does by HTTP.
    package var serverURL = ""

    /// Settings of a file and a program alone.
    package init(main: String, node: String) {
        self.main = main
        self.node = node
    }

    /// The settings that a configuration says; nil where it names no file.
    ///
    /// - Throws: `ConfigurationError` when the file is not there, or Node is not.
    package init?(_ configuration: Configuration, environment: [String: String]) throws(ConfigurationError) {
        let providers = configuration.nodeProviders
        let mail = configuration.nodeMail
        var routes: JSONObject = [:]
        routes["cloudApp"] = configuration.cloudMain.routesFile.map(JSONValue.string)
        routes["publicFolder"] = configuration.cloudMain.publicFolder.map(JSONValue.string)
        guard configuration.cloudMain.main != nil || !providers.isEmpty || mail != nil || !routes.isEmpty else {
            return nil
        }
        if let option = routes.keys.first, configuration.mount.isEmpty {
            throw ConfigurationError(
                "option \(option): with mountPath / no request reaches it. Set mountPath, such as /parse")
        }
        self.init(
            main: try configuration.cloudMain.main.map(NodeProgram.checkedFile)
                ?? configuration.cloudMain.folder + "/adapters.js",
            node: try NodeProgram.find(configuration.cloudMain.node, environment: environment))
        hasMain = configuration.cloudMain.main != nil
        self.providers = providers
        self.mail = mail
        self.routes = routes
        folder = configuration.cloudMain.folder
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
        serverURL = configuration.serverURL
    }
}

import App
import CloudCode
import Logging
public import Platform
import ServerConfiguration

/// A Roost server with Swift cloud code.
///
/// ```swift
/// let app = RoostApp()
/// app.cloud.define("hello") { request in "Hello, \(request.params["name"]?.stringValue ?? "world")!" }
/// try await app.run()
/// ```
public struct RoostApp: Sendable {
    /// The registry of cloud functions, triggers and jobs. Register everything before ``run()``.
    public let cloud = Cloud()
    private let arguments: [String]
    private let environment: [String: String]

    /// Creates an app without reading or opening anything.
    ///
    /// - Parameters:
    ///   - arguments: Arguments as for `roost serve`: an optional configuration file, then options.
    ///   - environment: Environment variables that set options.
    public init(
        arguments: [String] = Array(CommandLine.arguments.dropFirst()),
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.arguments = arguments.first == "serve" ? Array(arguments.dropFirst()) : arguments
        self.environment = environment
    }

    private static var isOnMainThread: Bool {
        #if canImport(Darwin)
            return pthread_main_np() != 0
        #else
            // On Linux the main thread's id equals the process id.
            let thread = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            return thread?.hasSuffix("/task/\(getpid())") == true
        #endif
    }

    /// Runs the server until SIGTERM or SIGINT, like `roost serve`. If the configuration is invalid, prints the reason
    /// and exits the process with status 1.
    ///
    /// - Throws: The error that prevents the server from starting or stops it.
    public func run() async throws {
        if Self.isOnMainThread { ProcessSettings.apply() }
        do {
            let server = try Server(arguments: arguments, environment: environment) { logger in
                var extensions = ServerExtensions()
                extensions.cloudHosts = [SwiftHost(cloud, logger: logger)]
                return extensions
            }
            try await server.run()
        } catch let error as ConfigurationError {
            ErrorText.report(ErrorText.of(error))
            exit(1)
        }
    }
}

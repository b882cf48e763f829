import App
import CloudCode
import HTTP
import Logging
import NIOCore
import NIOPosix
import ServerConfiguration

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A server with cloud code of its own.
///
/// ```swift
/// let app = RoostApp()
/// app.cloud.define("hello") { request in "Hello, \(request.params["name"]?.stringValue ?? "world")!" }
/// try await app.run()
/// ```
public struct RoostApp: Sendable {
    /// The cloud code.
    public let cloud = Cloud()
    private let arguments: [String]
    private let environment: [String: String]

    /// Makes an app. Nothing is read or opened yet.
    ///
    /// - Parameters:
    ///   - arguments: What `roost serve` takes: the path of a configuration file, then options, each of which may be missing.
    ///   - environment: Options by the names of their variables.
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
            // The first thread of a process has the number of the process.
            let thread = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            return thread?.hasSuffix("/task/\(getpid())") == true
        #endif
    }

    /// Serves until SIGTERM or SIGINT, as `roost serve` does. Where the configuration cannot be read, it says why and ends the
    /// process with 1.
    ///
    /// - Throws: What keeps the server from starting, or ends it.
    public func run() async throws {
        if Self.isOnMainThread {
            // As the command does: a request changes threads as seldom as it can.
            MemoryLimits.set()
            DescriptorLimit.raise()
            _ = NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
        }
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

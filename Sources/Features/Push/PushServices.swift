public import JSON
public import Logging
import Outgoing
public import ServerConfiguration

/// The configured push services, by device type.
public final class PushServices: Sendable {
    private let senders: [Name: [any PushSender]]
    private let caller: HTTPCaller
    /// Maximum concurrent connections per host over HTTP/1.1 (web push, Expo, access tokens).
    private static let callsPerHost = 64

    /// Creates the senders without connecting.
    ///
    /// - Parameter outgoing: The settings for HTTP/1.1 requests (web push, Expo, access tokens).
    /// - Throws: `ConfigurationError` for invalid keys, or another error if a certificate can't be read.
    public init(_ push: Configuration.Push, outgoing: Configuration.Outgoing, logger: Logger) throws {
        let caller = try HTTPCaller(outgoing, connectionsPerHost: Self.callsPerHost)
        self.caller = caller
        var senders: [Name: [any PushSender]] = [:]
        for (type, services) in push.services {
            let made = try services.map { try Self.sender($0, type, push, caller: caller, logger: logger) }
            senders[type] = made.filter(\.comesFirst) + made.filter { !$0.comesFirst }
        }
        // Devices that use Firebase register as either `fcm` or `android`.
        if senders["fcm"] == nil { senders["fcm"] = senders["android"] }
        if senders["android"] == nil { senders["android"] = senders["fcm"] }
        self.senders = senders
    }

    static func sender(
        _ service: Configuration.Push.Service, _ type: Name, _ push: Configuration.Push, caller: HTTPCaller,
        logger: Logger
    ) throws -> any PushSender {
        let option = "push.\(type)"
        let report: @Sendable (String) -> Void = {
            logger.warning("push service unreachable", metadata: ["service": "\(type)", "reason": "\($0)"])
        }
        switch service {
        case .apple(let settings):
            let sender = try APNsSender(settings, option, in: push.folder, report: report)
            if let warning = sender.warning { logger.warning("\(warning)") }
            return sender
        case .firebase(let settings):
            return try FCMSender(settings, option, in: push.folder, caller: caller, report: report)
        case .web(let settings): return try WebPushSender(settings, caller: caller)
        case .expo(let settings): return ExpoSender(settings, caller: caller)
        }
    }

    /// Returns the senders for a device: those of ``candidates(_:app:)``, or all of its type if the app is unknown.
    func senders(of type: Name, app: String?) -> [any PushSender] {
        app == nil ? senders[type] ?? [] : candidates(type, app: app)
    }

    /// The device types with a configured service.
    public var types: [Name] { senders.keys.sorted() }

    /// The device types with a service that accepts many messages per request.
    var wholeTypes: [Name] { senders.filter { $0.value.contains(where: \.acceptsBatches) }.keys.sorted() }

    /// Returns the senders for a device in the order they are tried: those of its app, or else those for any app.
    /// Without either, a device that names no app gets all senders if they are for the same app.
    func candidates(_ route: Name, app: String?) -> [any PushSender] {
        let all = senders[route] ?? []
        let name = app.map { Name($0) }
        let own = all.filter { $0.topic.map { Name($0) } == name && name != nil }
        if !own.isEmpty { return own }
        let general = all.filter { $0.topic == nil }
        if !general.isEmpty || app != nil { return general }
        return Set(all.compactMap { sender in sender.topic.map { Name($0) } }).count == 1 ? all : []
    }

    public func shutdown() async {
        for sender in senders.values.joined() { await sender.shutdown() }
        await caller.shutdown()
    }
}

public import JSON
public import Logging
import Outgoing
import ParseModel
public import ServerConfiguration

/// Tests the push configuration without the push queue.
public struct PushTrial: Sendable {
    /// The result of one step.
    public struct Finding: Sendable {
        public let type: String
        /// The sender's name, or empty if the entry's keys can't be used.
        public let entry: String
        /// The tested step, for example `read the keys`.
        public let step: String
        /// The problem, or nil if the step succeeded.
        public let problem: String?
    }

    private let push: Configuration.Push
    private let outgoing: Configuration.Outgoing
    private let logger: Logger

    /// The time until a test notification expires, in milliseconds.
    private static let patience: Int64 = 30_000

    /// - Parameter outgoing: The settings for HTTP/1.1 requests.
    public init(_ push: Configuration.Push, outgoing: Configuration.Outgoing, logger: Logger) {
        self.push = push
        self.outgoing = outgoing
        self.logger = logger
    }

    /// Checks that keys can be read and can sign, and that services except web push respond. Sends no notifications.
    ///
    /// - Throws: An error if the file of option `trustedCertificates` can't be read.
    public func check() async throws -> [Finding] {
        let caller = try HTTPCaller(outgoing)
        var findings: [Finding] = []
        for (type, settings) in push.services.sorted(by: { $0.key < $1.key }) {
            for service in settings {
                do {
                    let sender = try PushServices.sender(service, type, push, caller: caller, logger: logger)
                    for (step, problem) in await sender.check() {
                        findings.append(Finding(type: type.text, entry: sender.name, step: step, problem: problem))
                    }
                    await sender.shutdown()
                } catch {
                    findings.append(
                        Finding(
                            type: type.text, entry: "", step: "read the keys",
                            problem: (error as? ConfigurationError)?.message ?? "\(error)"))
                }
            }
        }
        await caller.shutdown()
        return findings
    }

    /// Sends a text to one device, trying each matching entry until one succeeds.
    ///
    /// - Parameter app: The app on the device (its bundle id), or nil to try every configured entry of the type.
    /// - Returns: One result per tried entry, empty if no entry matches the device.
    /// - Throws: `ConfigurationError` for invalid keys, or another error if a certificate can't be read.
    public func send(_ text: String, to token: String, type: Name, app: String?) async throws -> [Finding] {
        let services = try PushServices(push, outgoing: outgoing, logger: logger)
        let content = PushContent(
            body: ["data": ["alert": .string(text)]], expiry: ParseDate.now.milliseconds + Self.patience)
        let message = PushMessage(content: content, data: content.data, id: "test", time: ParseDate.now.iso)
        let device = PushDevice(objectId: "test", token: token, type: type.text, app: app)
        var findings: [Finding] = []
        for sender in services.senders(of: type, app: app) {
            // Remains if the command is stopped before a response arrives.
            var problem: String? = "no response"
            await sender.send(message, to: [device]) { outcomes in problem = outcomes.last?.outcome.reason }
            findings.append(
                Finding(type: type.text, entry: sender.name, step: "send a notification", problem: problem))
            if problem == nil { break }
        }
        await services.shutdown()
        return findings
    }
}

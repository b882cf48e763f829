public import JSON
public import Logging
import Outgoing
import ParseModel
public import ServerConfiguration

/// Tries what the configuration says of pushes, without a server and its queue.
public struct PushTrial: Sendable {
    /// What came of a step.
    public struct Finding: Sendable {
        /// The device type.
        public let type: String
        /// The entry; empty where there is none that can be used.
        public let entry: String
        /// What was looked at.
        public let step: String
        /// What is wrong; nil where it is right.
        public let problem: String?
    }

    /// A device that is tried.
    public struct Target: Sendable {
        /// Its type.
        public var type: Name
        /// Its token.
        public var token: String
        /// The app on it; nil for each that there is an entry for.
        public var app: String?

        public init(type: Name, token: String, app: String? = nil) {
            self.type = type
            self.token = token
            self.app = app
        }
    }

    private let push: Configuration.Push
    private let outgoing: Configuration.Outgoing
    private let logger: Logger

    /// How long to wait for an unreachable service, in milliseconds.
    private static let patience: Int64 = 30_000

    /// - Parameter outgoing: How requests of HTTP/1.1 are made.
    public init(_ push: Configuration.Push, outgoing: Configuration.Outgoing, logger: Logger) {
        self.push = push
        self.outgoing = outgoing
        self.logger = logger
    }

    /// Looks whether keys can be read and sign, and whether services answer. Nothing is sent.
    ///
    /// - Throws: When the file of certificates cannot be read.
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

    /// Sends a text to one device, by each entry that may know it until one does.
    ///
    /// - Returns: What the services said; empty where no entry is for the device.
    /// - Throws: `ConfigurationError` for keys that cannot be used.
    public func send(_ text: String, to target: Target) async throws -> [Finding] {
        let services = try PushServices(push, outgoing: outgoing, logger: logger)
        let content = PushContent(
            body: ["data": ["alert": .string(text)]], expiry: ParseDate.now.milliseconds + Self.patience)
        let message = PushMessage(content: content, data: content.data, id: "test", time: ParseDate.now.iso)
        let device = PushDevice(objectId: "test", token: target.token, type: target.type.text, app: target.app)
        var findings: [Finding] = []
        for sender in services.senders(of: target.type, app: target.app) {
            // What it stays when the command is stopped meanwhile.
            var problem: String? = "no response"
            await sender.send(message, to: [device]) { outcomes in problem = outcomes.last?.outcome.reason }
            findings.append(
                Finding(type: target.type.text, entry: sender.name, step: "send a notification", problem: problem))
            if problem == nil { break }
        }
        await services.shutdown()
        return findings
    }
}

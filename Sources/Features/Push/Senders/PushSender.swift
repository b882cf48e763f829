package struct PushDevice: Sendable {
    var objectId: String
    /// The device token issued by the push service.
    var token: String
    /// The `deviceType` of the installation.
    var type: String
    /// The app identifier of the installation, or nil if it has none.
    var app: String?
    /// The locale identifier of the installation, or nil if it has none.
    var locale: String?
    /// The badge to display, or nil if the push doesn't change it.
    var badge: Double?

    package init(
        objectId: String, token: String, type: String, app: String? = nil, locale: String? = nil, badge: Double? = nil
    ) {
        self.objectId = objectId
        self.token = token
        self.type = type
        self.app = app
        self.locale = locale
        self.badge = badge
    }
}

/// Sends notifications through a push service with one configured set of credentials.
package protocol PushSender: Sendable {
    /// The app identifier, or nil if the sender serves any app.
    var topic: String? { get }
    /// Whether the sender is tried before other senders with the same topic.
    var comesFirst: Bool { get }
    /// Whether devices show a notification again if it is delivered twice.
    var repeatsShow: Bool { get }
    var name: String { get }

    /// Sends the same message to several devices.
    ///
    /// - Parameter report: Receives outcomes by device index as they become known, once per device unless cancelled.
    func send(_ message: PushMessage, to devices: [PushDevice], report: (PushOutcomes) async -> Void) async

    /// Returns the payload size in bytes, or nil if the message has no payload.
    func size(of message: PushMessage) -> Int?
    /// Returns the maximum payload size in bytes.
    func maxBytes(of message: PushMessage) -> Int
    /// Returns whether a token has the format of the service's tokens.
    func accepts(_ token: String) -> Bool
    /// Whether the service accepts messages to many devices in one request.
    var acceptsBatches: Bool { get }
    /// Whether dry runs send requests to the service, which validates them.
    var asksInTrials: Bool { get }

    /// Checks the credentials and the connection without sending a notification. Returns each step with its problem.
    func check() async -> [(step: String, problem: String?)]

    func shutdown() async
}

extension PushSender {
    package var topic: String? { nil }
    package var comesFirst: Bool { false }
    package var repeatsShow: Bool { true }
    package var acceptsBatches: Bool { false }
    package var asksInTrials: Bool { false }
    package func maxBytes(of message: PushMessage) -> Int { 4096 }
    package func accepts(_ token: String) -> Bool { true }
    package func shutdown() async {}
}

extension HTTP2Client {
    /// Checks whether the service responds, as a step of ``PushSender/check()``.
    func check(_ host: String) async -> (step: String, problem: String?) {
        do {
            return ("\(host) responds, and accepts \(try await probe()) requests at once", nil)
        } catch {
            return ("\(host) responds", "\(error)")
        }
    }
}

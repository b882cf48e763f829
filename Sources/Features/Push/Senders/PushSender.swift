package struct PushDevice: Sendable {
    var objectId: String
    /// The token by which its service knows it.
    var token: String
    /// What its row says that it is.
    var type: String
    /// The app on it; nil where the row does not say.
    var app: String?
    /// The language and region; nil where the row does not say.
    var locale: String?
    /// The number on the app's icon; nil where the row does not say.
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

/// What sends notifications to one app or project of one service.
package protocol PushSender: Sendable {
    /// The app that it sends to; nil for any.
    var topic: String? { get }
    /// Whether it is tried before others of the same topic.
    var comesFirst: Bool { get }
    /// Whether a device shows a notification twice that it gets twice.
    var repeatsShow: Bool { get }
    var name: String { get }

    /// Sends the same to devices.
    ///
    /// - Parameter report: Takes what became of devices, by their positions, as it is known. Called for each of them
    ///   once.
    func send(
        _ message: PushMessage, to devices: [PushDevice],
        report: ([(index: Int, outcome: PushOutcome)]) async -> Void
    ) async

    /// How many bytes devices get; nil where there is nothing for them.
    func size(of message: PushMessage) -> Int?
    /// How many bytes they may get.
    func mostBytes(of message: PushMessage) -> Int
    /// Whether a token may be one of its service's.
    func takes(_ token: String) -> Bool
    /// Whether its service takes messages to many devices in one request.
    var takesMany: Bool { get }
    /// Whether its service answers a trial run with what it would do.
    var asksInTrials: Bool { get }

    /// Looks whether it could send, and sends nothing; returns what was looked at, and what is wrong about it.
    func check() async -> [(step: String, problem: String?)]

    func shutdown() async
}

extension PushSender {
    package var topic: String? { nil }
    package var comesFirst: Bool { false }
    package var repeatsShow: Bool { true }
    package var takesMany: Bool { false }
    package var asksInTrials: Bool { false }
    package func mostBytes(of message: PushMessage) -> Int { 4096 }
    package func takes(_ token: String) -> Bool { true }
    package func shutdown() async {}
}

extension HTTP2Client {
    /// Whether the service answers, as a step of ``PushSender/check()``.
    func check(_ host: String) async -> (step: String, problem: String?) {
        do {
            return ("\(host) responds, and accepts \(try await probe()) requests at once", nil)
        } catch {
            return ("\(host) responds", "\(error)")
        }
    }
}

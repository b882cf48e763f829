import LiveQuery
import Outgoing

/// A part of the server. `RoostServer` starts all features in the order of its list.
protocol Feature: Sendable {
    /// Prepares the feature before the server listens. Features later in the list may need it.
    func prepare() async throws

    /// Receives the port that the server listens on, before the first request.
    func listening(on port: Int)

    /// Returns lines for the banner, once the server listens.
    ///
    /// - Parameter showsSecrets: Whether the lines may contain secrets, such as a ticket that signs in.
    func bannerLines(showsSecrets: Bool) -> [(name: String, value: String)]

    /// Runs background work until the task is cancelled.
    func run() async

    /// Stops the feature after its `run` has ended and all later features have stopped. Also called if the server could
    /// not start or listen.
    func stop() async
}

extension Feature {
    func prepare() async throws {}
    func listening(on port: Int) {}
    func bannerLines(showsSecrets: Bool) -> [(name: String, value: String)] { [] }
    func run() async {}
    func stop() async {}
}

extension LiveQueryServer: Feature {}

extension HTTPCaller: Feature {
    func stop() async { await shutdown() }
}

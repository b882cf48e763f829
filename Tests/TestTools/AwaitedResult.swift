extension Result where Failure == any Error {
    /// Runs `body`, so that the caller can clean up before it takes the result.
    public static func awaiting(_ body: () async throws -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}

/// Runs `body`, cancels it when the time limit is reached, and waits until it has stopped.
///
/// - Returns: The value, or nil on timeout. If the current task is cancelled, the outcome of `body` counts.
/// - Throws: The errors of `body`.
@discardableResult
public nonisolated(nonsending) func withTimeLimit<Value: Sendable, Failure: Error>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value? {
    let outcome = await withTaskGroup(of: Result<Value, Failure>?.self) { group -> Result<Value, Failure>? in
        group.addTask {
            do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
        }
        group.addTask {
            try? await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        if let outcome = await group.next() ?? nil { return outcome }
        return Task.isCancelled ? await group.next() ?? nil : nil
    }
    return try outcome?.get()
}

/// Runs `body`, and then `cleanUp`, even after an error.
///
/// - Throws: The errors of `body`.
public nonisolated(nonsending) func withCleanup<R>(
    _ body: nonisolated(nonsending) () async throws -> R, cleanUp: nonisolated(nonsending) () async -> Void
) async rethrows -> R {
    do {
        let result = try await body()
        await cleanUp()
        return result
    } catch {
        await cleanUp()
        throw error
    }
}

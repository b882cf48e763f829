public import JSON
public import Operations

/// The engine as the set of jobs. They have no checks and no time limit.
extension CloudEngine: JobSet {
    public func job(named name: Name) -> Job? {
        let target = CloudTarget.job(name)
        guard let host = entry(target)?.host else { return nil }
        return Job(isExclusive: isExclusive(target)) { [self] job in
            var call = CloudCall(target, job.context, user: nil)
            call.params = job.parameters
            call.jobId = job.id
            call.message = job.message
            return try await self.call(call, host, nil).value?.stringValue
        }
    }
}

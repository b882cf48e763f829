import ParseStorage
import Telemetry

/// Checks whether the last write to the database failed for lack of room or a broken disk. The probe writes nothing.
struct DatabaseWritesProbe: ReadinessProbe {
    let probeName = "databaseWrites"
    /// Reads may still be served.
    let isNeeded = false
    let trouble: DatabaseTrouble

    func probe() async throws -> [(name: String, value: Double)] {
        if let failure = trouble.lastFailure { throw Readiness.Shortfall(failure, figures: []) }
        return []
    }
}

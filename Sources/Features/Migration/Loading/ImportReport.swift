import JSON
import Synchronization

package struct ImportReport: Sendable {
    /// The result of one class or relation.
    package struct Class: Sendable {
        package let name: String
        /// The number of objects in the source.
        package var documents: Int64
        /// The number of rows created from the objects.
        package var rows: Int64
        /// The number of rejects: values, objects and indexes that couldn't be imported exactly.
        package var rejects: Int64
        /// The reason why the class wasn't imported, or nil if it was.
        package var failure: String?

        static func failed(_ name: String, _ error: any Error) -> Class {
            let reason = error is CancellationError ? "interrupted. Run the same command again to continue" : "\(error)"
            return Class(name: name, documents: 0, rows: 0, rejects: 0, failure: reason)
        }
    }

    /// The classes and relations, sorted by name.
    package var classes: [Class] = []
    /// The number of uploaded files stored. In a dry run, the number found.
    package var files = 0
    package var notes: [String] = []
    /// The path of the rejects file, or nil if nothing was rejected.
    package var rejects: String?
    /// Whether an earlier run had already imported everything.
    package var wasDone = false
    package var isDryRun = false

    /// Whether all classes were imported.
    package var isComplete: Bool { classes.allSatisfy { $0.failure == nil } }
    /// The total number of rejects in all classes.
    package var rejectCount: Int64 { classes.reduce(0) { $0 + $1.rejects } }

    /// The exit code of the process: 0 if everything was imported exactly, 2 if there are rejects or notes, 1 if a
    /// class wasn't imported.
    package var exitCode: Int32 {
        guard isComplete else { return 1 }
        return rejectCount > 0 || !notes.isEmpty ? 2 : 0
    }

    package var json: JSONObject {
        [
            "classes": .array(
                classes.map { one in
                    var object: JSONObject = [
                        "class": .string(one.name), "objects": .number(Double(one.documents)),
                        "rows": .number(Double(one.rows)), "rejects": .number(Double(one.rejects)),
                    ]
                    if let failure = one.failure { object["failure"] = .string(failure) }
                    return .object(object)
                }),
            "files": .number(Double(files)), "notes": .array(notes.map { .string($0) }),
            "rejects": rejects.map { .string($0) } ?? .null, "dryRun": .bool(isDryRun),
            "alreadyImported": .bool(wasDone), "exitCode": .number(Double(exitCode)),
        ]
    }
}

/// The progress of an import, shown to the operator.
package final class ImportProgress: Sendable {
    /// The progress at one moment.
    package struct Figures: Sendable {
        /// A description of the current step.
        package var step = "reading the source"
        /// The number of bytes to read in the current step.
        package var totalBytes: Int64 = 0
        /// The number of bytes read so far in the current step.
        package var bytes: Int64 = 0
        /// The number of objects processed so far, in all steps together.
        package var documents: Int64 = 0
        /// One line for each finished class, with its result.
        package var finished: [String] = []
    }

    private struct State {
        var figures = Figures()
        var isStopped = false
        var notes: [String] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var figures: Figures { state.withLock { $0.figures } }

    /// Stops the import at the next point from which it can continue later.
    package func stop() { state.withLock { $0.isStopped = true } }

    func check() throws {
        if state.withLock({ $0.isStopped }) { throw CancellationError() }
    }

    /// Adds a note to the report unless the report already has it.
    func addNote(_ text: String) {
        state.withLock { if !$0.notes.contains(text) { $0.notes.append(text) } }
    }

    var notes: [String] { state.withLock { $0.notes } }

    func begin(_ step: String, totalBytes: Int64) {
        state.withLock {
            $0.figures.step = step
            $0.figures.totalBytes = totalBytes
            $0.figures.bytes = 0
        }
    }

    func add(bytes: Int64, documents: Int64) {
        state.withLock {
            $0.figures.bytes += bytes
            $0.figures.documents += documents
        }
    }

    func finish(_ line: String) { state.withLock { $0.figures.finished.append(line) } }
}

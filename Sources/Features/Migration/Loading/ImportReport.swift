import JSON
import Synchronization

package struct ImportReport: Sendable {
    /// One class or relation.
    package struct Class: Sendable {
        package let name: String
        /// How many objects the source has.
        package var documents: Int64
        /// How many rows came of them.
        package var rows: Int64
        /// How often something could not be kept exactly.
        package var rejects: Int64
        /// Why it was not imported; nil when it was.
        package var failure: String?

        /// A class that was not imported.
        static func failed(_ name: String, _ error: any Error) -> Class {
            let reason = error is CancellationError ? "interrupted. Run the same command again to continue" : "\(error)"
            return Class(name: name, documents: 0, rows: 0, rejects: 0, failure: reason)
        }
    }

    /// The classes in the order of their names.
    package var classes: [Class] = []
    /// How many uploaded files were stored.
    package var files = 0
    package var notes: [String] = []
    /// The file of rejects; nil when there is nothing in it.
    package var rejects: String?
    /// Whether all of it had been imported before.
    package var wasDone = false
    /// Whether nothing was written on purpose.
    package var isDryRun = false

    /// Whether everything was imported.
    package var isComplete: Bool { classes.allSatisfy { $0.failure == nil } }
    /// How often something could not be kept exactly.
    package var rejectCount: Int64 { classes.reduce(0) { $0 + $1.rejects } }

    /// What the process that imported ends with: 0 when everything was kept exactly, 2 when something was not, which
    /// was reported or stands in the file of rejects, 1 when a class was not imported.
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

/// How far an import is, for the operator who watches it.
package final class ImportProgress: Sendable {
    /// The numbers at one moment.
    package struct Figures: Sendable {
        /// What is being done, in words.
        package var step = "reading the source"
        /// How many bytes there are to read, and how many have been read.
        package var totalBytes: Int64 = 0
        package var bytes: Int64 = 0
        /// How many objects have been looked at by this process.
        package var documents: Int64 = 0
        /// Classes that are done, each with its notes.
        package var finished: [String] = []
    }

    private struct State {
        var figures = Figures()
        var isStopped = false
        var notes: [String] = []
    }

    private let state = Mutex(State())

    /// Nothing is done yet.
    package init() {}

    /// The numbers now.
    package var figures: Figures { state.withLock { $0.figures } }

    /// Asks the import to end at the next place where it can go on later.
    package func stop() { state.withLock { $0.isStopped = true } }

    func check() throws {
        if state.withLock({ $0.isStopped }) { throw CancellationError() }
    }

    /// Adds a note on the rows to the report, once.
    func note(_ text: String) {
        state.withLock { if !$0.notes.contains(text) { $0.notes.append(text) } }
    }

    /// The notes so far.
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

import JSON
import ParseModel

/// Which fields of a class a pipeline can look at, so that the others need not become part of its documents.
///
/// Whatever looks like a name is taken for one, so that a field too many is kept now and then, and never one too few.
struct AggregateFields {
    /// The first steps of all names; nil when whole documents count.
    private(set) var names: Set<Name>? = ["objectId"]

    /// Goes through the stages up to the first that makes documents of its own; without one, whole documents come out.
    init(_ stages: some Sequence<AggregateStage>) {
        for stage in stages {
            if stage.name == "$facet" {
                for pipeline in stage.operand.objectValue?.values.elements ?? [] {
                    guard let stages = try? AggregateStage.list(pipeline.arrayValue ?? []),
                        let inner = AggregateFields(stages).names
                    else {
                        names = nil
                        return
                    }
                    names?.formUnion(inner)
                }
                return
            }
            collect(stage.operand)
            if Self.makesDocuments(stage.name, stage.operand) { return }
        }
        names = nil
    }

    private static func makesDocuments(_ name: String, _ operand: JSONValue) -> Bool {
        switch name {
        case "$group", "$bucket", "$count", "$sortByCount", "$replaceRoot", "$replaceWith": true
        // One that only leaves out fields keeps all others.
        case "$project":
            AggregateCompiler.flattened(operand.objectValue ?? [:]).values.contains { $0 != 0 && $0 != false }
        default: false
        }
    }

    private mutating func collect(_ value: JSONValue) {
        switch value {
        case .string(let text): collect(text)
        case .array(let list): for element in list { collect(element) }
        case .object(let object):
            for (key, member) in object {
                collect(key.text)
                collect(member)
            }
        default: break
        }
    }

    private mutating func collect(_ text: String) {
        if text.hasPrefix("$$ROOT") || text.hasPrefix("$$CURRENT") {
            names = nil
            return
        }
        let root = SystemClass.field(queriedAs: FieldPath(String(text.drop { $0 == "$" })).root)
        names?.insert(Name(StoredFieldNames.pointerField([root])?.first ?? root))
    }
}

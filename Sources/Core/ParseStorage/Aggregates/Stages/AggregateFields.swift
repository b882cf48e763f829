import JSON
import ParseModel

/// The class fields that a pipeline may read, so that its documents can omit the others.
///
/// Everything that resembles a field name counts, so an unused field may be included but a used one is never omitted.
struct AggregateFields {
    /// The first steps of all field paths, or nil if the pipeline needs whole documents.
    private(set) var names: Set<Name>? = ["objectId"]

    /// Reads the stages up to the first one that creates new documents. Without such a stage, whole documents are
    /// needed.
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
        // A projection that only excludes fields keeps all others.
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

public import JSON
public import ParseModel

public struct AggregateStage: Sendable {
    /// The name, including its dollar sign.
    public var name: String
    public var operand: JSONValue

    public init(_ name: String, _ operand: JSONValue) {
        self.name = name
        self.operand = operand
    }

    /// Parses a list of objects with one key each. Throws 102 for other elements.
    public static func list(_ list: [JSONValue]) throws(ParseError) -> [AggregateStage] {
        var stages: [AggregateStage] = []
        for element in list {
            let object = element.objectValue ?? [:]
            guard object.count == 1, let stage = object.elements.first else {
                throw ParseError(
                    ParseError.invalidQuery,
                    "Pipeline stages should only have one key but found \(object.keys.texts.joined(separator: ", ")).")
            }
            guard stage.key.hasPrefix("$") else {
                throw ParseError(ParseError.invalidQuery, "Invalid aggregate stage '\(stage.key)'.")
            }
            stages.append(AggregateStage(stage.key.text, stage.value))
        }
        return stages
    }
}

import JSON
import ParseModel

/// What an import is to do.
package struct ImportOptions: Sendable {
    /// Whether nothing is written: all is read, and told what would become of it.
    package var isDryRun = false
    /// Whether the first object that cannot be kept exactly ends the import.
    package var isStrict = false
    /// Whether objects come beside those that a class has.
    package var merges = false
    /// Classes whose objects give way.
    package var replaces: Set<Name> = []
    /// Classes that are imported; all if nothing is said.
    package var classes: Set<Name>?
    /// The types of fields, by class and field, where the caller knows better.
    package var types: [Name: [Name: FieldType]] = [:]
    /// How many classes are loaded at the same time.
    package var jobs = 2
    /// The file that tells what could not be kept exactly.
    package var rejects = "roost-rejects.jsonl"
    /// A folder for what must be unpacked or fetched before it is read.
    package var scratch = "import"

    /// Makes options that ask for everything.
    package init() {}

    /// Reads the type that a caller gives to a field: `Game.score=Number`, `Game.owner=Pointer<_User>`.
    ///
    /// - Returns: nil for what is none.
    package static func type(_ text: String) -> (className: Name, field: Name, type: FieldType)? {
        let sides = text.parts(between: "=")
        guard sides.count == 2 else { return nil }
        let path = sides[0].parts(between: ".")
        guard path.count == 2, !path[0].isEmpty, !path[1].isEmpty else { return nil }
        var name = sides[1]
        var target: Name?
        if name.hasSuffix(">"), let open = name.firstIndex(of: "<") {
            target = Name(name[name.index(after: open)...].dropLast())
            name = String(name[..<open])
        }
        return FieldType(name: name, targetClass: target).map { (Name(path[0]), Name(path[1]), $0) }
    }
}

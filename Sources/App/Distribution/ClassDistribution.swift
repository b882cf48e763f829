import JSON
import ParseModel
import ParseStorage
import ServerConfiguration

extension Distribution {
    /// Converts the option `distribution`.
    init(_ option: Configuration.Distribution) {
        func placement(_ placement: Configuration.Distribution.Placement) -> ClassPlacement {
            switch placement {
            case .local: .local
            case .reference: .reference
            case .rows(let field): .rows(by: Name(field))
            }
        }
        self.init(
            isBySchema: option.mode == .schema, shards: option.shards,
            classes: Dictionary(uniqueKeysWithValues: option.classes.map { (Name($0.key), placement($0.value)) }),
            others: placement(option.others))
    }
}

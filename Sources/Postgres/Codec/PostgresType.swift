/// Types by their object ids in PostgreSQL's catalogue.
public enum PostgresType: UInt32, Sendable {
    case bool = 16
    case bytea = 17
    case name = 19
    case int8 = 20
    case int2 = 21
    case int4 = 23
    case text = 25
    case json = 114
    case point = 600
    case polygon = 604
    case float4 = 700
    case float8 = 701
    case boolArray = 1000
    case textArray = 1009
    case float8Array = 1022
    case varchar = 1043
    case timestamptz = 1184
    case timestamptzArray = 1185
    case jsonb = 3802
    case jsonbArray = 3807

    /// Whether it is a list of values.
    var isArray: Bool {
        switch self {
        case .boolArray, .textArray, .float8Array, .timestamptzArray, .jsonbArray: true
        default: false
        }
    }
}

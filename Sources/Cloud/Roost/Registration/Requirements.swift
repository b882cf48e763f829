import CloudCode
import JSON
import ServerConfiguration

/// Conditions that the server checks before it calls cloud code. Callers that fail them get 142, or 429 beyond a rate
/// limit. Callers with master-key permissions skip the checks unless ``alsoForMaster`` is included.
///
/// ```swift
/// app.cloud.define("rate", requires: [.user, .field("stars", type: .number, required: true)]) { request in … }
/// ```
public struct Requirements: Sendable, ExpressibleByArrayLiteral {
    private(set) var validator = CloudValidator()

    /// Combines several requirements, all of which must hold.
    public init(arrayLiteral elements: Requirements...) {
        for element in elements { merge(element.validator) }
    }

    private init(_ change: (inout CloudValidator) -> Void) { change(&validator) }

    /// The validator, or nil if nothing is checked.
    var registered: CloudValidator? { validator == CloudValidator() ? nil : validator }

    /// The caller must be logged in. A user who is signing up counts as logged in.
    public static let user = Requirements { $0.requireUser = true }
    /// The caller must have master-key permissions, which may be read-only.
    public static let master = Requirements { $0.requireMaster = true }
    /// The other requirements, except rate limits, also apply to callers with master-key permissions.
    public static let alsoForMaster = Requirements { $0.validateMasterKey = true }
    /// Callers with master-key permissions skip the trigger. Has no effect on functions.
    public static let exceptMaster = Requirements { $0.skipWithMasterKey = true }

    /// Requires at least one of the named roles.
    public static func anyRole(_ names: String...) -> Requirements {
        Requirements { $0.requireAnyUserRoles = [names.map { Name($0) }] }
    }

    /// Requires all of the named roles.
    public static func allRoles(_ names: String...) -> Requirements {
        Requirements { $0.requireAllUserRoles = names.map { Name($0) } }
    }

    /// Requires fields in the user's own record.
    public static func userFields(_ names: String...) -> Requirements {
        Requirements {
            $0.requireUserKeys = names.map {
                var rule = CloudValidator.FieldRule(Name($0))
                rule.required = true
                return rule
            }
        }
    }

    /// The requests that share a rate-limit count.
    public enum Sender: Sendable {
        /// One count per client address, for IPv6 per /56 network.
        case address
        /// One count per user, or per address for log-ins and clients that aren't logged in.
        case user
        /// One count for all clients.
        case anybody
    }

    /// Limits the rate of client requests. Requests above the limit get HTTP status 429 with code 100. On a
    /// before-trigger, the limit counts the matching REST requests, for example those that save objects of the class.
    /// Ignored on after-triggers and live-query triggers. Of several limits in one list, the last applies.
    ///
    /// - Parameters:
    ///   - count: The maximum number of requests per period.
    ///   - time: The length of the period.
    ///   - sender: The requests that share a count.
    ///   - countsMaster: Whether requests with a server key (master, read-only master or maintenance) are counted.
    ///   - countsThisMachine: Whether requests from the server's own machine are counted.
    ///   - error: The error message, or nil for the default.
    public static func rateLimit(
        _ count: Int, per time: Duration, of sender: Sender = .address, countsMaster: Bool = false,
        countsThisMachine: Bool = false, error: String? = nil
    ) -> Requirements {
        let zone: RateLimit.Zone =
            switch sender {
            case .address: .ip
            case .user: .user
            case .anybody: .global
            }
        return Requirements {
            $0.rateLimit = DeclaredRateLimit(
                count: count, time: time, zone: zone, message: error,
                countsMaster: countsMaster, countsThisMachine: countsThisMachine)
        }
    }

    /// The required type of a parameter or a field.
    public enum FieldKind: String, Sendable {
        case string, number, boolean, array, object, date
    }

    /// Requires properties of a parameter or, in triggers, of an object's field.
    ///
    /// - Parameters:
    ///   - name: The name of the parameter or field.
    ///   - type: The required type, or nil for any.
    ///   - required: Whether the value must be present.
    ///   - value: The default for a missing value.
    ///   - constant: Whether clients can't change the field of stored objects. New objects get the default, if any.
    ///   - options: The allowed values, or nil for any.
    ///   - error: The error message for a value that isn't allowed, or nil for the default.
    public static func field(
        _ name: String, type: FieldKind? = nil, required: Bool = false, default value: JSONValue? = nil,
        constant: Bool = false, options: [JSONValue]? = nil, error: String? = nil
    ) -> Requirements {
        Requirements {
            var rule = CloudValidator.FieldRule(Name(name))
            rule.type = type?.rawValue
            rule.required = required
            rule.defaultValue = value
            rule.constant = constant
            rule.options = options
            rule.error = error
            $0.fields = [rule]
        }
    }

    private mutating func merge(_ other: CloudValidator) {
        validator.requireUser = validator.requireUser || other.requireUser
        validator.requireMaster = validator.requireMaster || other.requireMaster
        validator.validateMasterKey = validator.validateMasterKey || other.validateMasterKey
        validator.skipWithMasterKey = validator.skipWithMasterKey || other.skipWithMasterKey
        validator.requireAnyUserRoles += other.requireAnyUserRoles
        if let roles = other.requireAllUserRoles {
            validator.requireAllUserRoles = (validator.requireAllUserRoles ?? []) + roles
        }
        validator.rateLimit = other.rateLimit ?? validator.rateLimit
        validator.requireUserKeys += other.requireUserKeys
        validator.fields += other.fields
    }
}

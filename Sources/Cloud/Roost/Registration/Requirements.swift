import CloudCode
import JSON
import ServerConfiguration

/// What is checked before code is called; who does not fulfil it is refused with 142. The master key is let through, unless
/// ``alsoForMaster`` is among them.
///
/// ```swift
/// app.cloud.define("rate", requires: [.user, .field("stars", type: .number, required: true)]) { request in … }
/// ```
public struct Requirements: Sendable, ExpressibleByArrayLiteral {
    private(set) var validator = CloudValidator()

    /// Several together.
    public init(arrayLiteral elements: Requirements...) {
        for element in elements { merge(element.validator) }
    }

    private init(_ change: (inout CloudValidator) -> Void) { change(&validator) }

    /// The validator; nil when nothing is checked.
    var registered: CloudValidator? { validator == CloudValidator() ? nil : validator }

    /// A session. Who signs up counts as the user.
    public static let user = Requirements { $0.requireUser = true }
    /// The master key.
    public static let master = Requirements { $0.requireMaster = true }
    /// The checks hold for the master key, too.
    public static let alsoForMaster = Requirements { $0.validateMasterKey = true }
    /// The code of a trigger is not called for the master key.
    public static let exceptMaster = Requirements { $0.skipWithMasterKey = true }

    /// One of the roles.
    public static func anyRole(_ names: String...) -> Requirements {
        Requirements { $0.requireAnyUserRoles = names.map { Name($0) } }
    }

    /// All of the roles.
    public static func allRoles(_ names: String...) -> Requirements {
        Requirements { $0.requireAllUserRoles = names.map { Name($0) } }
    }

    /// Fields that the user's own record must have.
    public static func userFields(_ names: String...) -> Requirements {
        Requirements {
            $0.requireUserKeys = names.map {
                var rule = CloudValidator.FieldRule(Name($0))
                rule.required = true
                return rule
            }
        }
    }

    /// Which requests are counted together for a limit.
    public enum Sender: Sendable {
        /// Per address.
        case address
        /// Those of a user, and of an address where there is no user.
        case user
        /// All.
        case anybody
    }

    /// So many requests of clients in a time; those beyond are refused with 429 and the number 100. Requests with the master
    /// key and those of this machine are not counted, unless it is said. Before saves, deletions and finds, the requests
    /// for objects of the class are counted.
    ///
    /// - Parameters:
    ///   - count: How many are served.
    ///   - time: The time, in which the count lasts.
    ///   - sender: Which are counted together.
    ///   - countsMaster: Whether requests with the master key are counted.
    ///   - countsThisMachine: Whether requests from this machine are counted.
    ///   - error: What is said to those beyond.
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

    /// What a parameter, or a field of the object, must be.
    public enum FieldKind: String, Sendable {
        case string, number, boolean, array, object, date
    }

    /// A parameter, or a field of the object.
    ///
    /// - Parameters:
    ///   - type: What it must be.
    ///   - required: Whether it must be there.
    ///   - value: What it is where it is not there.
    ///   - constant: Whether it cannot be changed: a new object has the default, a stored one keeps what it has.
    ///   - options: What it must be one of.
    ///   - error: What is said when it is none of the options.
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
        validator.requireAnyUserRoles = other.requireAnyUserRoles ?? validator.requireAnyUserRoles
        validator.requireAllUserRoles = other.requireAllUserRoles ?? validator.requireAllUserRoles
        validator.rateLimit = other.rateLimit ?? validator.rateLimit
        validator.requireUserKeys += other.requireUserKeys
        validator.fields += other.fields
    }
}

import CloudCode
import JSON

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
        validator.requireUserKeys += other.requireUserKeys
        validator.fields += other.fields
    }
}

import JSON
import ServerConfiguration

/// The registrations of all hosts. If several hosts register a target, the host with the highest precedence is called.
struct CloudRegistry: Sendable {
    /// The host and options of a registered target.
    struct Entry: Sendable {
        var kind: CloudHostKind
        var validator: CloudValidator?
        var isExclusive = false
    }

    private var offers: [CloudHostKind: [CloudRegistration]] = [:]
    private(set) var entries: [CloudTarget: Entry] = [:]
    private(set) var hasTriggers = false
    private(set) var hasFindTriggers = false

    /// Replaces all registrations of a host.
    ///
    /// - Returns: Log fields for targets that several hosts register, unless they did so before.
    mutating func register(_ registrations: [CloudRegistration], of kind: CloudHostKind) -> [String] {
        let before = duplicates
        offers[kind] = registrations
        entries = [:]
        for kind in CloudHostKind.allCases.reversed() {
            for registration in offers[kind] ?? [] {
                entries[registration.target] = Entry(
                    kind: kind, validator: registration.validator, isExclusive: registration.isExclusive)
            }
        }
        hasFindTriggers = entries.keys.contains {
            switch $0 {
            case .trigger(.beforeFind, _), .trigger(.afterFind, _): true
            default: false
            }
        }
        hasTriggers = entries.keys.contains { if case .trigger = $0 { true } else { false } }
        return duplicates.filter { !before.contains($0) }
    }

    private var duplicates: [String] {
        var hosts: [CloudTarget: [CloudHostKind]] = [:]
        for kind in CloudHostKind.allCases {
            for registration in offers[kind] ?? [] { hosts[registration.target, default: []].append(kind) }
        }
        return hosts.filter { $0.value.count > 1 }
            .map { target, kinds in
                "call=\"\(target)\" hosts=\"\(kinds.map(\.name).joined(separator: ", "))\" "
                    + "using=\"\(kinds[0].name)\""
            }
            .sorted()
    }

    /// The rate limits of all validators, sorted so that they can be compared.
    var rateLimits: [RateLimit] {
        entries.compactMap { target, entry in
            target.limitedRequests.flatMap { entry.validator?.rateLimit?.limit(on: $0) }
        }
        .sorted { $0.identity < $1.identity }
    }

    /// Returns the names of all functions or jobs, sorted.
    func names(_ name: (CloudTarget) -> Name?) -> [Name] { entries.keys.compactMap(name).sorted() }
}

import JSON
import Limits
import ParseModel
import ParseStorage
import Rules

extension Providers {
    /// Whether an adapter of the app chooses the login data in responses.
    var chooseShownData: Bool { services.moduleProviders.contains { $0.choosesShownData } }

    /// Returns a result with the login data that adapters of the app show to the caller. Data of an adapter that fails
    /// is left out. Only users' own login data and requests with full rights reach adapters, once per provider.
    func showing(_ found: ObjectStore.Found, _ context: RequestContext) async -> ObjectStore.Found {
        // An adapter that reads users gets the stored data. Otherwise it would call itself endlessly.
        guard chooseShownData, context.facts?.isOfAdapter != true else { return found }
        let stored = await HeavyWork.run(found.cost) { found.loginData }
        guard !stored.isEmpty else { return found }
        var shown: [Name: [[UInt8]: JSONValue]] = [:]
        let request = try? await moduleRequest(of: AuthSubject(), context)
        for name in services.authProviders.keys {
            guard let (provider, options) = try? provider(name), provider.choosesShownData else { continue }
            shown[name] = [:]
            // A find may include the same user many times.
            var known: Set<[UInt8]> = []
            let data = stored.compactMap { $0[name]?.objectValue }.filter {
                known.insert(JSONValue.object($0).serialized()).inserted
            }
            guard !data.isEmpty, let request else { continue }
            var attempt = AuthAttempt(
                purpose: .logIn, data: [:], options: options, isMaster: context.caller.readsEverything, now: context.now
            )
            attempt.request = request
            let values = await provider.shownData(data, attempt)
            if values.count < data.count { logger.error("afterFind failed", metadata: ["provider": "\(name)"]) }
            for (data, value) in zip(data, values) where !value.isNull {
                shown[name]?[JSONValue.object(data).serialized()] = value
            }
        }
        var found = found
        found.loginDataView = { [shown, view = found.loginDataView] stored in
            var visible = view?(stored) ?? stored
            for (name, values) in shown {
                visible[name] = stored[name].flatMap { values[$0.serialized()] }
            }
            return visible
        }
        return found
    }
}

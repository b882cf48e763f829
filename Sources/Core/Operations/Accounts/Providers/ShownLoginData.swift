import JSON
import Limits
import ParseStorage
import Rules

extension Providers {
    /// Whether an adapter of the app chooses the login data in responses.
    var chooseShownData: Bool { services.moduleProviders.contains { $0.choosesShownData } }

    /// Returns a result with the login data that adapters of the app show to the caller. Data of an adapter that fails
    /// is left out. Each adapter is called at most once, with only the data that the caller may see.
    func showing(_ found: ObjectStore.Found, _ context: RequestContext) async -> ObjectStore.Found {
        // An adapter that reads users gets the stored data. Otherwise it would call itself endlessly.
        guard chooseShownData, context.facts?.isOfAdapter != true else { return found }
        let stored = await HeavyWork.run(found.cost) { found.loginData }
        guard !stored.isEmpty else { return found }
        var shown: [Name: [[UInt8]: JSONValue]] = [:]
        for (name, provider) in services.authProviders where provider.choosesShownData {
            shown[name] = [:]
            // A find may include the same user many times.
            var known: Set<[UInt8]> = []
            let own = stored.filter { _, data in
                data[name]?.objectValue != nil && known.insert(data[name]?.serialized() ?? []).inserted
            }
            let values = await shownData(of: own, name, provider, context)
            for ((_, data), value) in zip(own, values) where !value.isNull {
                shown[name]?[data[name]?.serialized() ?? []] = value
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

    /// Returns each user's login data as an adapter shows it to the caller, or an empty list if the adapter fails.
    private func shownData(
        of users: [(id: String, data: JSONObject)], _ name: Name, _ provider: any AuthProvider,
        _ context: RequestContext
    ) async -> [JSONValue] {
        guard !users.isEmpty, let request = try? await moduleRequest(of: AuthSubject(), context) else { return [] }
        var attempt = AuthAttempt(
            purpose: .logIn, data: [:], options: configuration.auth[name]?.objectValue ?? [:],
            isMaster: context.caller.readsEverything, now: context.now)
        attempt.request = request
        let data = users.map { $0.data[name]?.objectValue ?? [:] }
        let values = await provider.shownData(data, of: users.map(\.id), attempt)
        if values.count < data.count { logger.error("afterFind failed", metadata: ["provider": "\(name)"]) }
        return values
    }

    /// Returns the members of `given` that change the user's login data, without null. Clients may send back the data
    /// that they got: the iOS SDK sends the whole map with every save.
    func withoutEchoes(
        _ given: JSONObject, of stored: JSONObject, _ userId: String, _ context: RequestContext
    ) async -> JSONObject {
        var changed: JSONObject = [:]
        for (name, sent) in given where !sent.isNull {
            if await !isEcho(sent, name, of: stored, userId, context) { changed[name] = sent }
        }
        return changed
    }

    /// Whether the data only repeats the stored data, or what users see of it.
    private func isEcho(
        _ sent: JSONValue, _ name: Name, of stored: JSONObject, _ userId: String, _ context: RequestContext
    ) async -> Bool {
        guard let fields = sent.objectValue, let known = stored[name]?.objectValue, !fields.isEmpty else {
            return false
        }
        if fields.allSatisfy({ known[$0.key]?.isSame(as: $0.value) == true }) { return true }
        guard let provider = services.authProviders[name] else { return false }
        let visible = provider.visibleData(known, configuration.auth[name]?.objectValue ?? [:])
        if sent.isSame(as: .object(visible)) { return true }
        guard provider.choosesShownData, context.facts?.isOfAdapter != true else { return false }
        return await shownData(of: [(userId, stored)], name, provider, context).first?.isSame(as: sent) == true
    }
}

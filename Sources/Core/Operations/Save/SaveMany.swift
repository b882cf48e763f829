import JSON
import ParseModel
import ParseStorage
import Rules

extension Saving {
    /// Creates several objects of ordinary classes, in one round trip if possible.
    ///
    /// - Returns: The result of each object in order. A rejected object doesn't affect the others.
    public func createAll(_ objects: [(className: String, body: JSONObject)], _ context: RequestContext) async throws
        -> [Result<WriteResult, any Error>]
    {
        let pipeline = SavePipeline(backend: backend)
        var outcomes: [Result<WriteResult, any Error>] = []
        var plans: [(place: Int, save: Save, write: PlannedWrite)] = []
        outcomes.reserveCapacity(objects.count)
        plans.reserveCapacity(objects.count)
        for object in objects {
            do {
                var save = Save(object.className, nil, object.body, context)
                let write = try await pipeline.planOrdinary(&save)
                plans.append((outcomes.count, save, write))
                outcomes.append(.success(write.result))
            } catch {
                outcomes.append(.failure(error))
            }
        }
        let unobserved = services.changes.begin()
        defer { services.changes.end(unobserved) }
        var made: [ObjectStore.ChangedObject] = []
        do {
            made = try await insert(plans.map(\.write))
        } catch let error as ParseError where error.code == ParseError.internalServerError {
            // The database didn't respond. The objects may or may not exist, so all count as failed.
            for plan in plans { outcomes[plan.place] = .failure(error) }
        } catch {
            // Nothing was created. One by one, each object succeeds or fails independently.
            for plan in plans {
                do {
                    made += try await insert([plan.write])
                } catch {
                    outcomes[plan.place] = .failure(error)
                }
            }
        }
        for change in made { await services.changes.report(change) }
        guard mustFinish else { return outcomes }
        for plan in plans {
            guard case .success(let result) = outcomes[plan.place] else { continue }
            do {
                let planned = PlannedSave(save: plan.save, rules: nil, write: plan.write)
                let stored = StoredSave(planned: planned, result: result)
                outcomes[plan.place] = .success(try await pipeline.finish(stored))
            } catch {
                outcomes[plan.place] = .failure(error)
            }
        }
        return outcomes
    }

    private func insert(_ objects: [PlannedWrite]) async throws -> [ObjectStore.ChangedObject] {
        let rows = objects.map { ($0.className, $0.objectId, $0.write) }
        guard objects.contains(where: { services.changes.observes($0.className) }) else {
            try await store.insert(rows)
            return []
        }
        return try await store.insert(rows) { services.changes.wants($0) }
    }

    private var mustFinish: Bool { backend.triggers.isObserved || !configuration.protectedFieldsSaveResponseExempt }
}

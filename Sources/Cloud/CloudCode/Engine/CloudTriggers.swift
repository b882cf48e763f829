public import JSON
public import Operations
import ParseModel
public import Rules

extension CloudEngine: TriggerSet {
    public func trigger(for event: TriggerEvent, of className: Name) -> Trigger? {
        guard let cloudEvent = CloudEvent(rawValue: event.rawValue) else { return nil }
        let target = CloudTarget.trigger(cloudEvent, className)
        guard let (host, validator, _) = entry(target) else { return nil }
        return { [self] trigger in
            let call = CloudCall(target, trigger)
            let result = try await self.call(call, host, validator)
            var answer = TriggerAnswer()
            answer.context = result.context.map { call.context.merging($0) { $1 } }
            switch event {
            case .beforeSave: result.write?.apply(to: trigger, &answer)
            case .afterSave:
                answer.answer = result.answer
                answer.responseFields = result.responseFields
            default: break
            }
            return answer
        }
    }

    public func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger? {
        let target = CloudTarget.trigger(event == .beforeFind ? .beforeFind : .afterFind, className)
        guard let (host, validator, _) = entry(target) else { return nil }
        return { [self] find in
            let call = CloudCall(target, find)
            let result = try await self.call(call, host, validator)
            if event == .beforeFind, let context = result.context {
                find.context = call.context.merging(context) { $1 }
            }
            switch result.found {
            case nil: break
            case .query(let query): find.query = find.query.replacing(with: query)
            case .objects(let objects): find.objects = objects
            }
        }
    }

    public func fileTrigger(for event: FileEvent) -> FileTrigger? {
        guard let cloudEvent = CloudEvent(rawValue: event.rawValue) else { return nil }
        let target = CloudTarget.trigger(cloudEvent, "@File")
        guard let (host, validator, _) = entry(target) else { return nil }
        return { [self] file, request in
            var call = CloudCall(target, request, context: [:])
            call.file = file
            guard var changed = try await self.call(call, host, validator).file, event == .beforeSave else {
                return nil
            }
            changed.contentType = changed.contentType ?? file.contentType
            changed.bytes = changed.bytes ?? file.bytes
            changed.size = file.size
            return changed
        }
    }

    public func liveQueryTrigger(for event: LiveQueryTriggerEvent, of className: Name) -> LiveQueryTrigger? {
        guard let cloudEvent = CloudEvent(rawValue: event.rawValue) else { return nil }
        let target = CloudTarget.trigger(cloudEvent, className)
        guard let (host, validator, _) = entry(target) else { return nil }
        return { [self] live in
            let result = try await self.call(CloudCall(target, live), host, validator)
            switch event {
            case .beforeConnect: break
            case .beforeSubscribe:
                if case .query(let query)? = result.found {
                    live.query = CloudQuery.subscribed(query, live.query ?? [:])
                }
            case .afterEvent:
                guard let event = result.event else { break }
                live.isSent = event.isSent
                live.object = event.object ?? live.object
                live.original = live.original == nil ? nil : event.original ?? live.original
            }
        }
    }
}

extension CloudCaller {
    public init(_ request: RequestContext) {
        let caller = request.caller
        user = request.userRecord
        sessionToken = caller.user?.token
        roles = caller.user?.roles ?? []
        isMaster = caller.isMaster
        isReadOnly = caller.power == .readOnlyMaster
        installationId = caller.installationId
    }
}

extension CloudCall {
    /// Creates a call within a request, which must contain its user's record if cloud code is to see the user.
    ///
    /// - Parameter context: The context for triggers, or nil for the request's own.
    public init(_ target: CloudTarget, _ request: RequestContext, context: JSONObject? = nil) {
        self.init(target, caller: CloudCaller(request))
        ip = request.address
        self.context = context ?? request.facts?.cloudContext ?? [:]
        guard let facts = request.facts else { return }
        headers = facts.headerFields
        requestID = facts.logID
        requestSpan = facts.span
        depth = facts.cloudDepth + 1
        isOfAdapter = facts.isOfAdapter
        isNested = facts.isOfCloudCode && depth > 1
    }

    init(_ target: CloudTarget, _ trigger: TriggerCall) {
        self.init(target, trigger.request, context: trigger.context)
        let name = JSONValue.string(trigger.className)
        object = trigger.object
        object?["className"] = name
        original = trigger.original
        original?["className"] = name
        changes = trigger.changes
    }

    init(_ target: CloudTarget, _ find: FindCall) {
        self.init(target, find.request, context: find.context)
        query = CloudQuery.described(find)
        isGet = find.isGet
        isCount = find.query["count"]?.isTruthy ?? false
        objects = find.objects ?? []
    }

    init(_ target: CloudTarget, _ live: LiveQueryCall) {
        self.init(target, live.request, context: [:])
        params = live.details
        query = live.query.map(CloudQuery.described)
        let name = JSONValue.string(live.className.text)
        object = live.object
        object?["className"] = name
        original = live.original
        original?["className"] = name
    }
}

extension CloudResult.Write {
    /// Applies the write returned by a beforeSave trigger.
    func apply(to trigger: TriggerCall, _ answer: inout TriggerAnswer) {
        switch self {
        case .operations(let operations, let reverted):
            var body = trigger.changes
            for name in reverted {
                guard body.removeValue(forKey: name) != nil else { continue }
                // The client doesn't know the value that is kept, so the response contains it. Fields changed by dotted
                // keys are left out.
                guard !name.utf8.contains(UInt8(ascii: ".")) else { continue }
                answer.responseFields[name] = trigger.original?[name] ?? ["__op": "Delete"]
            }
            for (name, operation) in operations { body[name] = operation }
            answer.body = body
        case .fields(var fields):
            for name in ["createdAt", "updatedAt", "className"] as [Name] { fields[name] = nil }
            fields["objectId"] = trigger.original == nil ? trigger.changes["objectId"] : nil
            var body: JSONObject = [:]
            for (name, value) in fields {
                // Unchanged fields aren't written, because another request may have changed them meanwhile.
                if trigger.changes[name] == nil, trigger.original?[name] == value {
                    if value["__type"] != "Pointer" && value["__type"] != "Relation" {
                        answer.responseFields[name] = value
                    }
                } else {
                    body[name] = value
                }
            }
            // Dotted keys remain separate changes if the trigger didn't change the field that contains them.
            for (name, value) in trigger.changes where name.utf8.contains(UInt8(ascii: ".")) {
                let root = Name(String(name.text.prefix { $0 != "." }))
                if fields[root] != nil, fields[root] == trigger.object[root] {
                    body[root] = nil
                    body[name] = value
                }
            }
            answer.body = body
        }
    }
}

/// Provides the jobs of all hosts. Jobs have no validators and no time limit.
extension CloudEngine: JobSet {
    public func job(named name: Name) -> Job? {
        let target = CloudTarget.job(name)
        guard let (host, _, isExclusive) = entry(target) else { return nil }
        return Job(isExclusive: isExclusive) { [self] job in
            var call = CloudCall(target, job.context)
            call.params = job.parameters
            call.jobId = job.id
            call.message = job.message
            return try await self.call(call, host, nil).value?.stringValue
        }
    }
}

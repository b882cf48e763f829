import CloudCode
import JSON

/// What is called around finds, log-ins, files and the configuration.
extension Cloud {
    /// Registers what is called before objects of a class are found, also one by its id, and those that others point
    /// to. It may change what is asked for, answer itself, or refuse.
    public func beforeFind(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout FindRequest) async throws -> Void
    ) {
        register(.trigger(.beforeFind, Name(className)), requirements) { call, details in
            let query = ParseQuery(className, call.query ?? [:])
            var request = FindRequest(details: details, query: query, isGet: call.isGet, isCount: call.isCount)
            try await body(&request)
            var result = CloudResult()
            result.context = request.details.changedContext
            if let objects = request.results {
                result.found = .objects(objects.map { $0.found(in: className) })
            } else if let changes = request.query.changes(since: query) {
                result.found = .query(changes)
            }
            return result
        }
    }

    /// Registers what is called when objects of a class were found. It may change what is answered, or refuse.
    public func afterFind(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout FoundRequest) async throws -> Void
    ) {
        register(.trigger(.afterFind, Name(className)), requirements) { call, details in
            let objects = call.objects.map { ParseObject(className, json: $0) }
            var request = FoundRequest(
                details: details, query: ParseQuery(className, call.query ?? [:]), objects: objects, isGet: call.isGet)
            try await body(&request)
            var result = CloudResult()
            result.context = request.details.changedContext
            let found = request.objects.map { $0.found(in: className) }
            if found != objects.map({ $0.found(in: className) }) { result.found = .objects(found) }
            return result
        }
    }

    /// Registers what is called before a user who brought the right password, or was vouched for, gets a session.
    public func beforeLogin(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (LoginRequest) async throws -> Void
    ) {
        onLogin(.beforeLogin, "_User", requirements, body)
    }

    /// Registers what is called when a user got a session. What it throws goes to the client, and the session stays.
    public func afterLogin(_ body: @escaping @Sendable (LoginRequest) async throws -> Void) {
        onLogin(.afterLogin, "_User", [], body)
    }

    /// Registers what is called when a user ended a session.
    public func afterLogout(_ body: @escaping @Sendable (LoginRequest) async throws -> Void) {
        onLogin(.afterLogout, "_Session", [], body)
    }

    /// Registers what is called before a user is sent a link that lets choose a new password.
    public func beforePasswordResetRequest(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (LoginRequest) async throws -> Void
    ) {
        onLogin(.beforePasswordResetRequest, "_User", requirements, body)
    }

    private func onLogin(
        _ event: CloudEvent, _ className: Name, _ requirements: Requirements,
        _ body: @escaping @Sendable (LoginRequest) async throws -> Void
    ) {
        register(.trigger(event, className), requirements) { call, details in
            let object = ParseObject(className.text, json: call.object ?? [:])
            try await body(LoginRequest(details: details, object: object))
            return CloudResult()
        }
    }

    /// Registers what is called before a client of live queries is connected. It may refuse.
    public func beforeConnect(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (ConnectRequest) async throws -> Void
    ) {
        register(.trigger(.beforeConnect, "@Connect"), requirements) { call, details in
            try await body(ConnectRequest(details: details, members: call.params))
            return CloudResult()
        }
    }

    /// Registers what is called before a client is subscribed to objects of a class. It may change what the client is
    /// subscribed to, or refuse.
    public func beforeSubscribe(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SubscribeRequest) async throws -> Void
    ) {
        register(.trigger(.beforeSubscribe, Name(className)), requirements) { call, details in
            let query = ParseQuery(className, call.query ?? [:])
            var request = SubscribeRequest(details: details, query: query)
            try await body(&request)
            var result = CloudResult()
            if request.query != query { result.found = .query(request.query.parameters) }
            return result
        }
    }

    /// Registers what is called before a client of live queries is notified of a change. It may change what the
    /// client gets, or drop the event.
    public func afterLiveQueryEvent(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout LiveEventRequest) async throws -> Void
    ) {
        register(.trigger(.afterEvent, Name(className)), requirements) { call, details in
            var request = LiveEventRequest(
                details: details, event: call.params["event"]?.stringValue ?? "",
                object: ParseObject(className, json: call.object ?? [:]),
                original: call.original.map { ParseObject(className, json: $0) })
            try await body(&request)
            var result = CloudResult()
            result.event = CloudResult.Event(
                isSent: request.isSent, object: request.object.json, original: request.original?.json)
            return result
        }
    }

    /// Registers what is called before the app's configuration is changed. It may refuse.
    public func beforeSaveConfig(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (ConfigRequest) async throws -> Void
    ) {
        onConfig(.beforeSave, requirements, body)
    }

    /// Registers what is called when the app's configuration was changed. What it throws goes to the client.
    public func afterSaveConfig(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (ConfigRequest) async throws -> Void
    ) {
        onConfig(.afterSave, requirements, body)
    }

    private func onConfig(
        _ event: CloudEvent, _ requirements: Requirements,
        _ body: @escaping @Sendable (ConfigRequest) async throws -> Void
    ) {
        register(.trigger(event, "@Config"), requirements) { call, details in
            try await body(
                ConfigRequest(
                    details: details, params: call.object?["params"]?.objectValue ?? [:],
                    original: call.original?["params"]?.objectValue))
            return CloudResult()
        }
    }

    /// Registers what is called before a file is stored. It may change the file, or refuse.
    public func beforeSaveFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.beforeSave, requirements, body)
    }

    /// Registers what is called when a file was stored. What it throws goes to the client.
    public func afterSaveFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.afterSave, requirements, body)
    }

    /// Registers what is called before a file is removed. It may refuse.
    public func beforeDeleteFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.beforeDelete, requirements, body)
    }

    /// Registers what is called when a file was removed. What it throws goes to the client.
    public func afterDeleteFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.afterDelete, requirements, body)
    }

    /// Registers what is called before a file is read. It may refuse.
    public func beforeFindFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.beforeFind, requirements, body)
    }

    /// Registers what is called when a file was found, before it is sent. It may refuse.
    public func afterFindFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.afterFind, requirements, body)
    }

    private func onFile(
        _ event: CloudEvent, _ requirements: Requirements,
        _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        register(.trigger(event, "@File"), requirements) { call, details in
            let file = call.file ?? CloudFile(name: "")
            var request = FileRequest(
                details: details, name: file.name, url: file.url, contentType: file.contentType, bytes: file.bytes,
                metadata: file.metadata, tags: file.tags, size: file.size)
            try await body(&request)
            var changed = CloudFile(name: request.name, url: request.url)
            changed.contentType = request.contentType
            changed.bytes = request.bytes
            changed.metadata = request.metadata
            changed.tags = request.tags
            changed.size = request.bytes?.count ?? file.size
            var result = CloudResult()
            result.file = changed
            return result
        }
    }
}

extension ParseObject {
    /// The object as a find returns it. One of another class names its class.
    fileprivate func found(in className: String) -> JSONObject {
        var json = json
        if !self.className.hasSameBytes(as: className) { json["className"] = .string(self.className) }
        return json
    }
}

import JSON
public import ParseModel
public import ParseStorage

extension SchemaCatalog {
    /// Creates a class or extends it to match an import source. Missing fields and indexes are added, and permissions
    /// are set if the class has none.
    ///
    /// - Parameter outweighs: Whether the source's permissions and field options replace those of the class.
    /// - Returns: The class after the change.
    /// - Throws: 111 if a field exists with a different type, or an error of ``change(_:listingHandmade:_:)``.
    @discardableResult
    public func adopt(_ source: ClassSchema, outweighs: Bool) async throws -> ClassSchema {
        try await change(source.name) { current in
            var schema = current ?? ClassSchema(name: source.name)
            for (name, field) in try schema.missing(source.fields) { schema.fields[name] = field }
            // The source's field options are used if the class has none.
            for (name, field) in source.fields {
                guard let known = schema.fields[name], outweighs || (known.required == nil && known.defaultValue == nil)
                else { continue }
                schema.fields[name] = field
            }
            if let permissions = source.permissions, outweighs || schema.permissions == nil {
                schema.permissions = permissions
            }
            for (name, index) in source.indexes where schema.indexes[name] == nil { schema.indexes[name] = index }
            return schema
        }
    }
}

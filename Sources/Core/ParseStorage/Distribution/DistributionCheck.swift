import JSON
import ParseModel
import Postgres

/// Checks that the database matches the option `distribution`.
struct DistributionCheck {
    let distribution: Distribution?
    let client: PostgresClient
    /// Whether the process only loads rows in explicit transactions, as an import does.
    let onlyLoads: Bool

    /// A mismatch between the database and the option `distribution`.
    struct Unfit: Error, CustomStringConvertible {
        let description: String
    }

    /// Checks that the configured placement is possible and that no classes are distributed without the option.
    ///
    /// - Parameter hasCitus: Whether Citus is installed in the database.
    /// - Throws: ``Unfit`` or `PostgresError`.
    func run(hasCitus: Bool) async throws {
        guard let distribution else { return hasCitus ? try await checkUndistributed() : () }
        guard hasCitus else {
            throw Unfit(
                description:
                    "option distribution requires Citus: add citus to shared_preload_libraries on all servers, and run "
                    + "CREATE EXTENSION citus in the database on each")
        }
        if distribution.isBySchema { try await checkSchema() } else { try await checkServers() }
    }

    private func checkUndistributed() async throws {
        if !onlyLoads, let schema = client.schema, try await isKept(schema) {
            throw Unfit(
                description:
                    "Citus keeps the app's schema on one server. Declare it in the option distribution, "
                    + "{\"engine\": \"citus\", \"mode\": \"schema\"}, or writes aren't atomic")
        }
        let tables = try await Distribution.placements { try await client.query($0) }.keys.map(\.text).sorted()
        guard !tables.isEmpty, try await client.hasTable("_SCHEMA") else { return }
        let classes = try await client.query(
            "SELECT \"className\" FROM \"_SCHEMA\" WHERE \"className\" = ANY($1) ORDER BY 1 LIMIT 1",
            [.textArray(tables)])
        guard let first = classes.rowCount > 0 ? classes.string(0, 0) : nil else { return }
        throw Unfit(
            description: "\(first) is distributed by Citus. Declare it in the option distribution, "
                + "{\"engine\": \"citus\", \"mode\": \"rows\"}")
    }

    private func isKept(_ schema: String) async throws -> Bool {
        try await client.query(
            "SELECT EXISTS (SELECT 1 FROM pg_dist_schema s JOIN pg_namespace n ON n.oid = s.schemaid WHERE n.nspname = $1)",
            [.text(schema)]
        ).bool(0, 0) == true
    }

    /// Throws ``Unfit`` if values that must be unique are spread over several servers.
    static func checkUnique(_ classes: some Sequence<ClassSchema>) throws {
        guard let schema = classes.first(where: \.splitsUniqueValues) else { return }
        throw Unfit(
            description: "\(schema.name) has unique fields but is distributed, and each server only checks its own "
                + "objects. Run SELECT undistribute_table('\(SQL.identifier(schema.name))')")
    }

    private func checkServers() async throws {
        let servers = try await client.query(
            "SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary'")
        guard servers.int(0, 0) == 0 else { return }
        throw Unfit(description: "Citus has no worker for distributed rows. Add one with citus_add_node")
    }

    private func checkSchema() async throws {
        let schema = client.schema ?? "public"
        if try await isKept(schema) { return }
        let known = try await client.query(
            """
            SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1),
                current_setting('citus.enable_schema_based_sharding', true) = 'on'
            """, [.text(schema)])
        if known.bool(0, 0) == true {
            throw Unfit(
                description: "distribution.mode \"schema\" requires a distributed schema: run "
                    + "SELECT citus_schema_distribute('\(schema)')")
        }
        if known.bool(0, 1) != true {
            throw Unfit(description: "distribution.mode \"schema\" requires citus.enable_schema_based_sharding = on")
        }
    }
}

extension SchemaCatalog {
    /// Makes the sequence of change numbers available on all Citus servers if rows are distributed.
    func shareChangeNumbers() async throws {
        guard distribution?.isBySchema == false else { return }
        try await ProcessLock.schemaChange.make(
            """
            SELECT create_reference_table(c.oid) FROM pg_class c WHERE c.oid = to_regclass('"_roost_change_number"') \
            AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid);
            """, client)
    }
}

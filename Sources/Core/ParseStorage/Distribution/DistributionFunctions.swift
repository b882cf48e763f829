extension Distribution {
    /// Functions for databases with Citus, which runs only IMMUTABLE functions in statements that return changed rows.
    package static let functions = """
        -- The first argument is a column, so PostgreSQL doesn't take the result for a constant.
        CREATE OR REPLACE FUNCTION roost_change_number(id text, numbers regclass) RETURNS bigint
        LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
        BEGIN
            RETURN nextval(numbers);
        END
        $$;
        CREATE OR REPLACE FUNCTION roost_is_over(moment timestamptz) RETURNS boolean
        LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
            RETURN moment <= clock_timestamp();
        END
        $$;
        CREATE OR REPLACE FUNCTION roost_bound(changed record, most integer) RETURNS boolean
        LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
            IF pg_column_size(changed) > most / 256 AND octet_length(to_jsonb(changed)::text) > most THEN
                RAISE EXCEPTION '%', most USING ERRCODE = 'RS116';
            END IF;
            RETURN NULL;
        END
        $$;

        -- Returns the values at a path that contains array indexes, and the elements of arrays among them.
        CREATE OR REPLACE FUNCTION roost_elements(container jsonb, steps text[]) RETURNS SETOF jsonb
        LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 SET search_path FROM CURRENT AS $$
            SELECT v FROM roost_leaves(container, steps), LATERAL (SELECT leaf AS v UNION ALL
                SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(leaf) = 'array' AND NOT is_whole THEN leaf END)) AS c
        $$;

        -- Returns whether all elements of an array are in a list. Other values count as empty arrays.
        CREATE OR REPLACE FUNCTION roost_is_within(value jsonb, list jsonb[]) RETURNS boolean
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
            SELECT NOT EXISTS (
                SELECT 1 FROM jsonb_array_elements(CASE WHEN jsonb_typeof(value) = 'array' THEN value END) AS c(v)
                WHERE v <> ALL (list))
        $$;
        """
}

-- Models of an endpoint are the variables' to name, as the endpoint is; those that come in wheels are named by who has their vectors.
WITH vectors AS (
  SELECT namespace_id, model FROM memory.entity_vectors
  UNION ALL SELECT namespace_id, model FROM memory.chunk_vectors
  UNION ALL SELECT namespace_id, model FROM memory.memory_vectors
), commonest AS (
  SELECT DISTINCT ON (namespace_id) namespace_id, model FROM vectors GROUP BY namespace_id, model ORDER BY namespace_id, count(*) DESC, model
)
UPDATE memory.namespaces n SET settings = n.settings || jsonb_build_object('embedding_model', c.model)
FROM commonest c WHERE c.namespace_id = n.id AND NOT n.settings ? 'embedding_model'
  AND c.model IN ('fast-use-v3', 'all-minilm-l6-v2-int8');

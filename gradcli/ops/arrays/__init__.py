"""Operations that move entries: shapes, indices, parts, masks, windows."""

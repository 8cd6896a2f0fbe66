// Lookup tables.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"

namespace tessera {

REGISTER_OP("AnonymousHashTable")
    .Output("table_handle: resource").Attr("key_dtype: type").Attr("value_dtype: type").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousMutableDenseHashTable")
    .Input("empty_key: key_dtype").Input("deleted_key: key_dtype")
    .Output("table_handle: resource").Attr("key_dtype: type").Attr("value_dtype: type")
    .Attr("value_shape: shape = []").Attr("initial_num_buckets: int = 131072")
    .Attr("max_load_factor: float = 0.800000012").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousMutableHashTable")
    .Output("table_handle: resource").Attr("key_dtype: type").Attr("value_dtype: type").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("AnonymousMutableHashTableOfTensors")
    .Output("table_handle: resource").Attr("key_dtype: type").Attr("value_dtype: type")
    .Attr("value_shape: shape = []").Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("HashTable")
    .Output("table_handle: Ref(string)").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false")
    .Attr("key_dtype: type").Attr("value_dtype: type").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("HashTableV2")
    .Output("table_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false")
    .Attr("key_dtype: type").Attr("value_dtype: type").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);
REGISTER_OP("InitializeTable")
    .Input("table_handle: Ref(string)").Input("keys: Tkey").Input("values: Tval")
    .Attr("Tkey: type").Attr("Tval: type").Writes("table_handle");
REGISTER_OP("InitializeTableFromDataset")
    .Input("table_handle: resource").Input("dataset: variant").Stateful().Writes("table_handle")
    .ReadsOutside();
REGISTER_OP("InitializeTableFromTextFile")
    .Input("table_handle: Ref(string)").Input("filename: string").Attr("key_index: int >= -2")
    .Attr("value_index: int >= -2").Attr("vocab_size: int >= -1 = -1")
    .Attr("delimiter: string = '	'").Attr("offset: int = 0").Writes("table_handle").ReadsOutside();
REGISTER_OP("InitializeTableFromTextFileV2")
    .Input("table_handle: resource").Input("filename: string").Attr("key_index: int >= -2")
    .Attr("value_index: int >= -2").Attr("vocab_size: int >= -1 = -1")
    .Attr("delimiter: string = '	'").Attr("offset: int = 0").Stateful()
    .Writes("table_handle").ReadsOutside();
REGISTER_OP("InitializeTableV2")
    .Input("table_handle: resource").Input("keys: Tkey").Input("values: Tval").Attr("Tkey: type")
    .Attr("Tval: type").Stateful().Writes("table_handle");
REGISTER_OP("LookupTableExport")
    .Input("table_handle: Ref(string)").Output("keys: Tkeys").Output("values: Tvalues")
    .Attr("Tkeys: type").Attr("Tvalues: type").Reads("table_handle").ShapeFn(shape::Unknown);
REGISTER_OP("LookupTableExportV2")
    .Input("table_handle: resource").Output("keys: Tkeys").Output("values: Tvalues")
    .Attr("Tkeys: type").Attr("Tvalues: type").Stateful().Reads("table_handle")
    .ShapeFn(shape::Unknown);
REGISTER_OP("LookupTableFind")
    .Input("table_handle: Ref(string)").Input("keys: Tin").Input("default_value: Tout")
    .Output("values: Tout").Attr("Tin: type").Attr("Tout: type").Reads("table_handle")
    .ShapeFn(shape::Unknown);
REGISTER_OP("LookupTableFindV2")
    .Input("table_handle: resource").Input("keys: Tin").Input("default_value: Tout")
    .Output("values: Tout").Attr("Tin: type").Attr("Tout: type").Stateful().Reads("table_handle")
    .ShapeFn(shape::Unknown);
REGISTER_OP("LookupTableImport")
    .Input("table_handle: Ref(string)").Input("keys: Tin").Input("values: Tout").Attr("Tin: type")
    .Attr("Tout: type").Writes("table_handle");
REGISTER_OP("LookupTableImportV2")
    .Input("table_handle: resource").Input("keys: Tin").Input("values: Tout").Attr("Tin: type")
    .Attr("Tout: type").Stateful().Writes("table_handle");
REGISTER_OP("LookupTableInsert")
    .Input("table_handle: Ref(string)").Input("keys: Tin").Input("values: Tout").Attr("Tin: type")
    .Attr("Tout: type").Writes("table_handle");
REGISTER_OP("LookupTableInsertV2")
    .Input("table_handle: resource").Input("keys: Tin").Input("values: Tout").Attr("Tin: type")
    .Attr("Tout: type").Stateful().Writes("table_handle");
REGISTER_OP("LookupTableRemoveV2")
    .Input("table_handle: resource").Input("keys: Tin").Attr("Tin: type").Stateful()
    .Writes("table_handle");
REGISTER_OP("LookupTableSize")
    .Input("table_handle: Ref(string)").Output("size: int64").Reads("table_handle")
    .ShapeFn(shape::Scalar);
REGISTER_OP("LookupTableSizeV2")
    .Input("table_handle: resource").Output("size: int64").Stateful().Reads("table_handle")
    .ShapeFn(shape::Scalar);
REGISTER_OP("MutableDenseHashTable")
    .Input("empty_key: key_dtype").Output("table_handle: Ref(string)")
    .Attr("container: string = ''").Attr("shared_name: string = ''")
    .Attr("use_node_name_sharing: bool = false").Attr("key_dtype: type").Attr("value_dtype: type")
    .Attr("value_shape: shape = []").Attr("initial_num_buckets: int = 131072")
    .Attr("max_load_factor: float = 0.800000012").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"_ -> [2]">);
REGISTER_OP("MutableDenseHashTableV2")
    .Input("empty_key: key_dtype").Input("deleted_key: key_dtype")
    .Output("table_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false")
    .Attr("key_dtype: type").Attr("value_dtype: type").Attr("value_shape: shape = []")
    .Attr("initial_num_buckets: int = 131072").Attr("max_load_factor: float = 0.800000012")
    .Stateful().MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("MutableHashTable")
    .Output("table_handle: Ref(string)").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false")
    .Attr("key_dtype: type").Attr("value_dtype: type").Stateful().MakesResource()
    .ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("MutableHashTableOfTensors")
    .Output("table_handle: Ref(string)").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false")
    .Attr("key_dtype: type").Attr("value_dtype: type").Attr("value_shape: shape = []").Stateful()
    .MakesResource().ShapeFn(shape::Spec<"-> [2]">);
REGISTER_OP("MutableHashTableOfTensorsV2")
    .Output("table_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false")
    .Attr("key_dtype: type").Attr("value_dtype: type").Attr("value_shape: shape = []").Stateful()
    .MakesResource().ShapeFn(shape::Scalar);
REGISTER_OP("MutableHashTableV2")
    .Output("table_handle: resource").Attr("container: string = ''")
    .Attr("shared_name: string = ''").Attr("use_node_name_sharing: bool = false")
    .Attr("key_dtype: type").Attr("value_dtype: type").Stateful().MakesResource()
    .ShapeFn(shape::Scalar);

}  // namespace tessera

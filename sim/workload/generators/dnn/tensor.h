// Shape-only tensors of an eager framework. A storage is a framework-level allocation: it is recorded when
// it is made and when its last reference goes away, which is where PyTorch would free it.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <vector>

#include "workload/generators/dnn/recorder.h"

namespace uvmsim::dnn {

template <class T>
using RefCounted = boost::intrusive_ref_counter<T, boost::thread_unsafe_counter>;

class Storage : public RefCounted<Storage> {
 public:
  Storage(Recorder& recorder, std::int64_t bytes, TensorKind kind)
      : recorder_(recorder), bytes_(bytes), id_(recorder.allocate(bytes, kind)) {}
  ~Storage() { recorder_.free(id_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Recorder& recorder() const { return recorder_; }
  std::int64_t bytes() const { return bytes_; }
  trace::TensorId id() const { return id_; }

 private:
  Recorder& recorder_;
  std::int64_t bytes_;
  trace::TensorId id_;
};
using StorageRef = boost::intrusive_ptr<Storage>;

struct Node;
struct Parameter;
using NodeRef = boost::intrusive_ptr<Node>;

// A view of a storage, and how it came about. A default-constructed tensor is "None".
class Tensor {
 public:
  Tensor();
  // A new tensor with a storage of its own.
  Tensor(Recorder& recorder, Shape shape, DataType type, TensorKind kind);

  // The same storage and shape, without the history: what an in-place operation returns.
  Tensor alias() const { return view(shape_, offset_); }
  // Another shape on the same storage, from `offset` bytes after its start, without the history. A slice along
  // another dimension than the first has gaps in memory; it stands for one run of as many bytes from its first
  // element.
  Tensor view(Shape shape, std::int64_t offset) const;
  // The same storage in another shape of as many elements, or fewer, without the history.
  Tensor reshaped(Shape shape) const;
  ~Tensor();
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;

  explicit operator bool() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  DataType type() const { return type_; }
  const StorageRef& storage() const { return storage_; }
  Recorder& recorder() const { return storage_->recorder(); }
  std::int64_t offset() const { return offset_; }  // bytes, in the storage
  std::int64_t bytes() const { return count() * size_of(type_); }
  std::int64_t count() const;  // elements; where they are countless, so many that no trace may have the tensor

  // Autograd: the operation that made this tensor, or the parameter that it is.
  NodeRef made_by;
  Parameter* parameter = nullptr;
  bool needs_gradient() const { return made_by != nullptr || parameter != nullptr; }

 private:
  Shape shape_;
  DataType type_ = DataType::Float32;
  std::int64_t offset_ = 0;
  StorageRef storage_;
};

}  // namespace uvmsim::dnn

//===- PortAttributes.h - Many attributes of ports at once ------*- C++ -*-===//

#ifndef TANDEM_IR_PORTATTRIBUTES_H
#define TANDEM_IR_PORTATTRIBUTES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tandem {

/// The attributes of a function's arguments and results, changed here and
/// written together. `setArgAttr` makes a new list of those of all arguments
/// for each change, and the context keeps every list: for the thousands of
/// parameters of a model that is time and memory by their square.
class PortAttributes {
public:
  explicit PortAttributes(mlir::FunctionOpInterface function)
      : function(function), arguments(function.getNumArguments()),
        results(function.getNumResults()) {
    for (unsigned i = 0; i < arguments.size(); ++i)
      arguments[i] = mlir::NamedAttrList(function.getArgAttrDict(i));
    for (unsigned i = 0; i < results.size(); ++i)
      results[i] = mlir::NamedAttrList(function.getResultAttrDict(i));
  }

  mlir::NamedAttrList &argument(unsigned index) { return arguments[index]; }
  mlir::NamedAttrList &result(unsigned index) { return results[index]; }

  /// Gives the function what stands here.
  void write() {
    function.setAllArgAttrs(dictionaries(arguments));
    function.setAllResultAttrs(dictionaries(results));
  }

private:
  llvm::SmallVector<mlir::DictionaryAttr>
  dictionaries(std::vector<mlir::NamedAttrList> &lists) {
    llvm::SmallVector<mlir::DictionaryAttr> result;
    for (mlir::NamedAttrList &list : lists)
      result.push_back(list.getDictionary(function->getContext()));
    return result;
  }

  mlir::FunctionOpInterface function;
  std::vector<mlir::NamedAttrList> arguments, results;
};

} // namespace tandem

#endif // TANDEM_IR_PORTATTRIBUTES_H
